import Glibc

/// A reader that has gone is told by the write's error, not by a signal that ends the process. For
/// a program to decide: it changes the whole process. Loops and workers block the signal on their
/// own threads, so that it is the program's other writes, as of its log, that need this.
package func ignoreBrokenPipes() {
    _ = signal(SIGPIPE, SIG_IGN)
}
