import AssayDevCommand

@main
struct Main {
    static func main() { AssayDevProgram.main() }
}
