import AssayCommand
import Dispatch
import Glibc

@main
struct Main {
    /// Not async: that would start Dispatch's threads before the arguments are looked at.
    static func main() {
        AssayProgram.requireArguments()
        Task { @MainActor in
            await AssayProgram.main()
            exit(EXIT_SUCCESS)
        }
        dispatchMain()
    }
}
