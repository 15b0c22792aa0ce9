// What threads share with a loop is locked: `import AssayIO` is enough to use it.
@_exported public import AssayLocks
