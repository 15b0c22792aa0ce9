import Glibc

/// Ignores SIGPIPE in the whole process: a write to a closed pipe or connection then fails with
/// an error instead of ending the process. The program decides, because it affects the whole
/// process. Loops and workers block the signal on their own threads; other writes, such as the
/// log's, need this.
package func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
}
