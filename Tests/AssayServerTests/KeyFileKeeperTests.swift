import Assay
import AssayMint
import Testing

@testable import AssayServer
@testable import AssayTelemetry
@testable import AssayKeepers

/// Files of keys that are read again when they change.
@Suite struct KeyFileKeeperTests {
    private let folder = TemporaryFolder()

    /// The events that a keeper has reported.
    private final class Events {
        var all: [KeyFileEvent] = []
        func take() -> [KeyFileEvent] {
            defer { all = [] }
            return all
        }
    }

    @Test("a changed file gives its keys to all that name it; a bad one leaves the old keys")
    func changes() throws {
        let (first, second) = (try StoreMinter(), try StoreMinter())
        let path = folder.path + "/keys.json"
        folder.write("keys.json", first.jwks)
        let (keys, others) = (PushKeys(), PushKeys())
        let events = Events()
        let keeper = KeyFileKeeper { events.all.append($0) }
        keeper.apply([KeyFile(path: path, keys: keys), KeyFile(path: path, keys: others)])
        #expect(keys.names == [first.keyName] && others.names == [first.keyName])
        #expect(events.take().isEmpty)
        // Nothing has changed, so nothing is read.
        try keys.replace(second.jwks)
        keeper.look()
        #expect(keys.names == [second.keyName] && events.take().isEmpty)

        folder.write("keys.json", second.jwks + [0x0A])
        keeper.look()
        #expect(others.names == [second.keyName])
        #expect(events.take() == [.read(path: path)])

        folder.write("keys.json", Array("{\"keys\":".utf8))
        keeper.look()
        keeper.look()
        guard case .notUsed(path, let reason)? = events.all.first else {
            Issue.record("nothing reported")
            return
        }
        #expect(reason.contains("JWK Set") && events.take().count == 1)
        #expect(keys.names == [second.keyName])

        folder.remove("keys.json")
        keeper.look()
        keeper.look()
        #expect(events.take().count == 1 && keys.names == [second.keyName])
        folder.write("keys.json", first.jwks)
        keeper.look()
        #expect(keys.names == [first.keyName] && events.take() == [.read(path: path)])
    }

    @Test("files that settings no longer name are not read")
    func applied() throws {
        let (minter, second) = (try StoreMinter(), try StoreMinter())
        let path = folder.path + "/keys.json"
        folder.write("keys.json", minter.jwks)
        let keys = PushKeys()
        let keeper = KeyFileKeeper { _ in }
        keeper.apply([KeyFile(path: path, keys: keys)])
        keeper.apply([])
        folder.write("keys.json", second.jwks)
        keeper.look()
        #expect(keys.names == [minter.keyName])
    }

    @Test("a service reads its files before it returns, and another set of them after")
    func service() throws {
        let minter = try StoreMinter()
        let path = folder.path + "/keys.json"
        folder.write("keys.json", minter.jwks)
        let service = try KeyFileService()
        for _ in 0..<2 {
            let keys = PushKeys()
            try service.apply([KeyFile(path: path, keys: keys)])
            #expect(keys.names == [minter.keyName])
        }
        service.stop()
    }
}
