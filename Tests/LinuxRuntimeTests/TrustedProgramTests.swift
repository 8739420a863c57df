import Foundation
import LinuxRuntime
import TestSupport
import Testing

@Suite struct TrustedProgramTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A program in a folder of its own.
    private func program(_ name: String = "bin/tool", mode: Int = 0o755) throws -> String {
        let path = folder.file(name)
        let above = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try FileManager.default.createDirectory(atPath: above, withIntermediateDirectories: true)
        try "#!/bin/sh\n".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, mode_t(mode))
        return path
    }

    private func reason(_ path: String, user: UInt32? = nil) -> TrustedProgram.Failure.Reason? {
        do throws(TrustedProgram.Failure) {
            _ = try TrustedProgram.check(path, user: user)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func programsOfRootAndOneselfPass() throws {
        let path = try program()
        #expect(try TrustedProgram.check(path).hasSuffix("/bin/tool"))
        #expect(try TrustedProgram.check("/bin/sh").hasPrefix("/usr/bin/") || reason("/bin/sh") == nil)
        #expect(TrustedProgram.isOwn("/proc/self/exe") && !TrustedProgram.isOwn(path))
    }

    @Test(arguments: [0o775, 0o757, 0o777])
    func aProgramThatOthersCanWriteIsNone(mode: Int) throws {
        #expect(reason(try program(mode: mode)) == .writableByOthers)
    }

    @Test(arguments: [0o770, 0o707, 0o777], ["", "outer", "outer/inner"])
    func aFolderAboveThatOthersCanWriteIsNone(mode: Int, name: String) throws {
        let path = try program("outer/inner/tool")
        let above = name.isEmpty ? folder.path : folder.file(name)
        chmod(above, mode_t(mode))
        #expect(reason(path) == .writableByOthers)
        // Nobody can replace what belongs to another user in a sticky folder.
        chmod(above, mode_t(mode | 0o1000))
        #expect(reason(path) == nil)
    }

    @Test func ownersOfProgramAndFoldersCount() throws {
        // Everything here is of this user: to another one, it belongs to somebody else, unless this is root.
        let path = try program()
        if geteuid() == 0 {
            chown(path, 12_345, 12_345)
            #expect(reason(path) == .foreignOwner)
            chown(path, 0, 0)
            chown(folder.file("bin"), 12_345, 12_345)
            #expect(reason(path) == .foreignOwner)
            #expect(reason(path, user: 12_345) == nil)
        } else {
            #expect(reason(path, user: geteuid() + 1) == .foreignOwner)
        }
    }

    /// What links point to is looked at, and where they are.
    @Test func symbolicLinksAreFollowedAndLookedAt() throws {
        let path = try program()
        let link = folder.file("links/tool")
        try FileManager.default.createDirectory(atPath: folder.file("links"), withIntermediateDirectories: true)
        symlink("../bin/tool", link)
        #expect(try TrustedProgram.check(link) == TrustedProgram.check(path))
        chmod(folder.file("links"), 0o777)
        #expect(reason(link) == .writableByOthers)
        chmod(folder.file("links"), 0o755)
        chmod(folder.file("bin"), 0o777)
        #expect(reason(link) == .writableByOthers)
        chmod(folder.file("bin"), 0o755)
        symlink("loop", folder.file("loop"))
        #expect(reason(folder.file("loop")) == .system(ELOOP))
    }

    @Test func whatIsNoProgramIsNone() throws {
        #expect(reason(folder.path) == .notAProgram)
        #expect(reason("tool") == .notAProgram)
        #expect(reason(try program("plain", mode: 0o644)) == .notAProgram)
        #expect(reason(folder.file("missing")) == .system(ENOENT))
        mkfifo(folder.file("pipe"), 0o700)
        #expect(reason(folder.file("pipe")) == .notAProgram)
        #expect(reason(try program() + "/more") == .notAProgram)
    }
}
