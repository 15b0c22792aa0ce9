import AssayCommand

@main
struct Main {
    static func main() async { await AssayProgram.main() }
}
