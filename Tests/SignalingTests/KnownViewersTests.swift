import Dispatch
import Foundation
import Glibc
import SessionDescription
import Synchronization
import Testing

@testable import Identifiers
@testable import Identity
@testable import Signaling

/// The file of known viewers.
@Suite(.timeLimit(.minutes(1))) struct KnownViewersTests {
    private func with(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("known-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func native() throws -> ViewerIdentity { try #require(ViewerIdentity(fingerprint: randomFingerprint())) }
    private func mode(_ path: String) -> Int? {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test func anIdentityIsKnownByAllOfItself() throws {
        try with { folder in
            let known = KnownViewers(directory: folder)
            #expect(try known.entries().isEmpty)
            let (ann, bob) = (try native(), try BrowserKey().identity)
            try known.add(ann, name: "Ann of the north", on: Date(timeIntervalSince1970: 1_795_330_800))
            try known.add(bob, name: "Bob\nnative \(String(repeating: "0", count: 64)) 2026-01-01 Eve")
            try known.add(ann, name: "another name")
            let entries = try known.entries()
            #expect(entries.map(\.identity) == [ann, bob])
            #expect(entries.first?.name == "Ann of the north" && entries.first?.since == "2026-11-22")
            let claims = [
                ViewerIdentity(fingerprint: ann.fingerprint, key: bob.key),
                ViewerIdentity(fingerprint: bob.fingerprint), try BrowserKey(bob.fingerprint).identity,
            ]
            for claim in claims { #expect(try known.entry(of: #require(claim)) == nil) }
            #expect(try known.forget(ann) && !known.forget(ann))
            #expect(try known.entries().map(\.identity) == [bob])
        }
    }

    @Test func linesOfAnOlderVersionAndStrangeOnesStay() throws {
        try with { folder in
            let old = try native()
            let path = folder + "/known-viewers"
            let hexadecimal = old.fingerprint.map { String(format: "%02x", $0) }.joined()
            let strange = "relay 12 something of a later version"
            try "\(hexadecimal) Dora the 2nd\n\(strange)\n".write(toFile: path, atomically: false, encoding: .utf8)
            chmod(path, 0o600)
            let known = KnownViewers(directory: folder)
            #expect(try known.entry(of: old) == .init(identity: old, name: "Dora the 2nd", since: nil))
            try known.add(try native(), name: "Ann")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.hasPrefix("\(hexadecimal) Dora the 2nd\n\(strange)\nnative "))
        }
    }

    @Test func namesAndFingerprintsAreFound() throws {
        try with { folder in
            let known = KnownViewers(directory: folder)
            let (first, second) = (try native(), try BrowserKey().identity)
            try known.add(first, name: "Ann")
            try known.add(second, name: "Ann")
            #expect(try known.find("Ann").count == 2 && known.find("ann").isEmpty)
            let print = Fingerprint.colons(second.fingerprint)
            #expect(try known.find(String(print.prefix(23))).map(\.identity) == [second])
            #expect(try known.find(String(print.lowercased())).map(\.identity) == [second])
            #expect(try known.find(String(print.prefix(2))).isEmpty)
        }
    }

    /// Each thread acts as a host of its own, because flock(2) locks the open file and not the process.
    @Test func twoHostsThatAddAtOnceLoseNoLine() throws {
        try with { folder in
            let failures = Mutex(0)
            DispatchQueue.concurrentPerform(iterations: 4) { host in
                for number in 0..<50 {
                    do {
                        let identity = try #require(ViewerIdentity(fingerprint: randomFingerprint()))
                        try KnownViewers(directory: folder).add(identity, name: "viewer \(host) \(number)")
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
            }
            #expect(failures.withLock { $0 } == 0)
            let entries = try KnownViewers(directory: folder).entries()
            #expect(entries.count == 200)
        }
    }

    /// Checks the mode of each file in the folder repeatedly while lines are added.
    @Test func noOtherUserCanEverReadTheFile() throws {
        try with { folder in
            let isDone = Mutex(false)
            let seen = Mutex(Set<Int>())
            let watcher = Thread {
                while !isDone.withLock({ $0 }) {
                    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                        if let mode = mode(folder + "/" + name) { seen.withLock { _ = $0.insert(mode) } }
                    }
                }
            }
            watcher.start()
            for number in 0..<200 { try KnownViewers(directory: folder).add(try native(), name: "\(number)") }
            isDone.withLock { $0 = true }
            #expect(seen.withLock { $0 } == [0o600])
            #expect(mode(folder + "/known-viewers") == 0o600)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
        }
    }

    @Test func aFileThatOthersMayWriteIsNotBelieved() throws {
        try with { folder in
            let identity = try native()
            let known = KnownViewers(directory: folder)
            try known.add(identity, name: "Ann")
            chmod(folder + "/known-viewers", 0o622)
            #expect(throws: KnownViewersError.self) { try known.entry(of: identity) }
            #expect(throws: KnownViewersError.self) { try known.add(try native(), name: "Bob") }
        }
    }
}
