module assay.internal/assay

go 1.19
