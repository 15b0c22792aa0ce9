import Glibc

/// A peer that has gone is told by the write's error, not by a signal that ends the process.
package func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
}
