import AssayCommand

@main
struct Main {
    static func main() { AssayProgram.main() }
}
