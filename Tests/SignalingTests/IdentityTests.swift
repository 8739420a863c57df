import Cryptography
import Foundation
import Testing

@testable import Identity
@testable import Signaling

@Suite struct IdentityTests {
    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("identity-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    private func error(_ directory: String) -> IdentityError? {
        do {
            _ = try Identity.loadOrCreate(in: directory)
            return nil
        } catch {
            return error
        }
    }

    @Test func identityStaysTheSameAndIsPrivate() async throws {
        try await withDirectory { directory in
            let first = try Identity.loadOrCreate(in: directory + "/deep/er")
            let second = try Identity.loadOrCreate(in: directory + "/deep/er")
            #expect(first.fingerprint == second.fingerprint)
            #expect(first.privateKeyDER == second.privateKeyDER)
            #expect(first.fingerprint == SHA256Hash(of: first.certificateDER).bytes)
            #expect(try mode(directory + "/deep/er") == 0o700)
            #expect(try mode(directory + "/deep/er/identity.pem") == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/deep/er") == ["identity.pem"])
        }
    }

    @Test func manyAtOnceAgree() async throws {
        try await withDirectory { directory in
            let fingerprints = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<16 { group.addTask { try Identity.loadOrCreate(in: directory).fingerprint } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(fingerprints.count == 1)
        }
    }

    @Test func readableKeyIsRefused() async throws {
        try await withDirectory { directory in
            _ = try Identity.loadOrCreate(in: directory)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: directory + "/identity.pem")
            #expect(error(directory)?.code == .permissions)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory + "/identity.pem")
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
            #expect(error(directory)?.code == .permissions)
        }
    }

    /// The file with a private number that does not belong to its point.
    private func changedKey(_ identity: Identity) throws -> String {
        var der = identity.privateKeyDER
        der[50] ^= 1
        return identity.certificatePEM + PEM.text(.init("PRIVATE KEY", der))
    }

    @Test func damageIsNamed() async throws {
        try await withDirectory { directory in
            let path = directory + "/identity.pem"
            let good = try Identity.loadOrCreate(in: directory)
            let other = try Identity.ephemeral()
            for text in [
                "", "garbage", good.certificatePEM, good.certificatePEM + "\n" + other.privateKeyPEM,
                String(good.certificatePEM.dropLast(40)) + "\n" + good.privateKeyPEM,
                String(repeating: "x", count: 100_000), try changedKey(good),
            ] {
                let file = try #require(FileHandle(forWritingAtPath: path))
                try file.truncate(atOffset: 0)
                try file.write(contentsOf: Data(text.utf8))
                try file.close()
                #expect(error(directory)?.code == .damaged)
                #expect(error(directory)?.description.contains(path) == true)
            }
        }
    }

    @Test func linksAndOtherThingsAreNotFollowed() async throws {
        try await withDirectory { directory in
            _ = try Identity.loadOrCreate(in: directory + "/a")
            try FileManager.default.createDirectory(
                atPath: directory + "/b", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/b/identity.pem", withDestinationPath: directory + "/a/identity.pem")
            #expect(error(directory + "/b")?.code == .file)
            #expect(error(directory + "/a/identity.pem") != nil)
        }
    }

    @Test func nothingPrintsTheKey() throws {
        let identity = try Identity.ephemeral()
        var dumped = "\(identity)"
        dump(identity, to: &dumped)
        #expect(!dumped.contains("PRIVATE"))
        #expect(dumped.count < 1_000)
    }
}
