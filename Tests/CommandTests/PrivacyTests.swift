import Foundation
import Glibc
import TestSupport
import Testing

/// The protection of a process that holds keys from other processes of the same user.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PrivacyTests {
    /// These files belong to root while the process does not allow tracing, so other processes of the user cannot read
    /// them.
    @Test func onlyRootCanReadAHostsMemory() throws {
        let folder = try TemporaryFolder()
        var launcher: [String] = []
        if geteuid() == 0 {
            // Root may read everything, so the host runs as another user, from a folder that this user can reach.
            chmod(folder.path, 0o777)
            launcher = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        }
        let program = folder.file("program")
        try FileManager.default.copyItem(atPath: try Program.share(), toPath: program)
        let host = try Program(
            launcher.first ?? program,
            launcher.dropFirst() + (launcher.isEmpty ? [] : [program]) + [
                "host", "--accept", "any", "--listen", "127.0.0.1:0", "--source", "test", "--audio", "none",
            ],
            environment: folder.environment.mapValues { $0 }.merging(["HOME": folder.path]) { $1 })
        _ = try #require(host.line(seconds: 30) { $0.hasPrefix("https://") ? $0 : nil }, "\(host.text.errors)")
        for name in ["environ", "mem", "maps", "fd"] {
            #expect(try owner("/proc/\(host.processID)/\(name)") == 0, "\(name)")
        }
        // The host still runs, and can count its own descriptors.
        #expect(host.isRunning)
        #expect(!host.text.errors.contains("open files"))
        host.interrupt()
        #expect(host.exitCode(seconds: 30) == 0)
    }

    private func owner(_ path: String) throws -> uid_t {
        var status = stat()
        try #require(stat(path, &status) == 0, "\(path)")
        return status.st_uid
    }
}
