// Values that threads share with a loop are `Locked`: `import AssayIO` includes it.
@_exported public import AssayLocks
