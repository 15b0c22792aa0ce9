module assay.internal/assay/clients/go

go 1.19
