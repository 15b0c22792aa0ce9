// Code that shares values with a loop needs `Locked`: `import AssayIO` re-exports it.
@_exported public import AssayLocks
