import Foundation
import TestSupport
import Testing

@testable import ControlSocket

/// The lock of the one broadcast of a session's screen.
@Suite struct SystemBroadcastLockTests {
    private func files(_ folder: ControlSocketFolder) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.paths[0])) ?? []
    }

    @Test func oneProcessHoldsTheLockAndTheNextGetsIt() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        let first = try SystemBroadcastLock(in: folder)
        #expect(files(folder) == [SystemBroadcastLock.file])
        #expect(throws: SystemBroadcastLock.Failure.taken(process: Int(getpid()))) {
            try SystemBroadcastLock(in: folder)
        }
        first.close()
        first.close()
        #expect(files(folder).isEmpty)
        let second = try SystemBroadcastLock(in: folder)
        #expect(throws: SystemBroadcastLock.Failure.self) { try SystemBroadcastLock(in: folder) }
        _ = second
    }

    @Test func theFileOfAKilledProcessIsNoLock() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        _ = try SystemBroadcastLock(in: folder)
        try Data("1\n".utf8).write(to: URL(fileURLWithPath: runtime.file("share/\(SystemBroadcastLock.file)")))
        let lock = try SystemBroadcastLock(in: folder)
        #expect(throws: SystemBroadcastLock.Failure.taken(process: Int(getpid()))) {
            try SystemBroadcastLock(in: folder)
        }
        _ = lock
    }

    @Test func aLinkAndAnUnusableFolderAreRefused() throws {
        let runtime = try TemporaryFolder()
        let folder = ControlSocketFolder(paths: [runtime.file("share")])
        _ = try SystemBroadcastLock(in: folder)
        let victim = runtime.file("victim")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
        try FileManager.default.createSymbolicLink(
            atPath: runtime.file("share/\(SystemBroadcastLock.file)"), withDestinationPath: victim)
        #expect { try SystemBroadcastLock(in: folder) } throws: { error in
            if case .unusable = error as? SystemBroadcastLock.Failure { true } else { false }
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
        let none = ControlSocketFolder(paths: [runtime.file("no/such/folder")])
        #expect { try SystemBroadcastLock(in: none) } throws: { error in
            if case .unusable = error as? SystemBroadcastLock.Failure { true } else { false }
        }
    }
}
