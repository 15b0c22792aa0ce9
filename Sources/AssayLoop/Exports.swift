// What threads share with a loop is locked: `import AssayLoop` is enough to use it.
@_exported public import AssayLocks
