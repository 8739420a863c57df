import Foundation
import TestSupport
import Testing

@testable import ControlSocket

/// The lock of the one broadcast of a session's screen.
@Suite struct SingleInstanceLockTests {
    private func files(_ folder: ControlSocketFolder) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.paths[0])) ?? []
    }

    @Test func oneProcessHoldsTheLockAndTheNextGetsIt() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        let first = try SingleInstanceLock(.systemBroadcast, in: folder)
        #expect(files(folder) == [SingleInstanceLock.Purpose.systemBroadcast.rawValue])
        #expect(throws: SingleInstanceLock.Failure.taken(process: Int(getpid()))) {
            try SingleInstanceLock(.systemBroadcast, in: folder)
        }
        first.close()
        first.close()
        #expect(files(folder).isEmpty)
        let second = try SingleInstanceLock(.systemBroadcast, in: folder)
        #expect(throws: SingleInstanceLock.Failure.self) { try SingleInstanceLock(.systemBroadcast, in: folder) }
        _ = second
    }

    @Test func theFileOfAKilledProcessIsNoLock() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        _ = try SingleInstanceLock(.systemBroadcast, in: folder)
        try Data("1\n".utf8).write(
            to: URL(fileURLWithPath: runtime.file("share/\(SingleInstanceLock.Purpose.systemBroadcast.rawValue)")))
        let lock = try SingleInstanceLock(.systemBroadcast, in: folder)
        #expect(throws: SingleInstanceLock.Failure.taken(process: Int(getpid()))) {
            try SingleInstanceLock(.systemBroadcast, in: folder)
        }
        _ = lock
    }

    @Test func aLinkAndAnUnusableFolderAreRefused() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        _ = try SingleInstanceLock(.systemBroadcast, in: folder)
        let victim = runtime.file("victim")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
        try FileManager.default.createSymbolicLink(
            atPath: runtime.file("share/\(SingleInstanceLock.Purpose.systemBroadcast.rawValue)"),
            withDestinationPath: victim)
        #expect { try SingleInstanceLock(.systemBroadcast, in: folder) } throws: { error in
            if case .unusable = error as? SingleInstanceLock.Failure { true } else { false }
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
        let none = ControlSocketFolder(paths: [runtime.file("no/such/folder")])
        #expect { try SingleInstanceLock(.systemBroadcast, in: none) } throws: { error in
            if case .unusable = error as? SingleInstanceLock.Failure { true } else { false }
        }
    }
}
