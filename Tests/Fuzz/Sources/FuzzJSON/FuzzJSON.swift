import AssayFuzzDoors
import FuzzSupport

@c(LLVMFuzzerInitialize)
public func initialize(_ count: OpaquePointer?, _ arguments: OpaquePointer?) -> CInt {
    writeSeeds(FuzzDoors.jsonSeeds)
}

@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    pass(start, count, to: FuzzDoors.json)
}
