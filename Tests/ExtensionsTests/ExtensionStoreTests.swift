import Admission
import Foundation
import Glibc
import Identifiers
import Identity
import Testing

@testable import Extensions

/// A directory for one test, removed with its contents.
final class TemporaryDirectory {
    let path: String
    var extensions: String { path + "/extensions" }

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("share-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file below `extensions`.
    func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
        try FileManager.default.createDirectory(
            atPath: extensions, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try Data(text.utf8).write(to: URL(fileURLWithPath: extensions + "/" + name))
        chmod(extensions + "/" + name, mode)
    }

    func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int
    }
}

@Suite struct ExtensionStoreTests {
    private func id(_ text: String = "com.example.conference") throws -> ServiceID { try #require(ServiceID(text)) }

    private func link(_ text: String = "com.example.conference", print: UInt8 = 1) throws -> ServiceLink {
        ServiceLink(host: "192.0.2.1", port: 8_443, id: try id(text), fingerprint: Array(repeating: print, count: 32))
    }

    private func description(_ text: String = "com.example.conference", name: String = "Conference") throws
        -> ServiceDescription
    {
        try ServiceDescription(
            id: id(text), name: name, fields: [SetupField(name: "title", label: "Title")], terms: "Be kind.\n\nAlways.")
    }

    private func manifest(
        _ id: String = "com.example.conference", link: ServiceLink? = nil, more: String = ""
    ) throws -> String {
        let link = try link ?? self.link(id)
        return #"{"id":"\#(id)","name":"X","service":"\#(link.text)"\#(more)}"#
    }

    private func code(_ body: () throws -> Void) -> ExtensionError.Code? {
        do {
            try body()
            return nil
        } catch {
            let found = error as? ExtensionError
            #expect(found?.description.isEmpty == false)
            return found?.code
        }
    }

    @Test func whatIsInstalledIsListedAndRead() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        #expect(try store.list().extensions.isEmpty && store.list().errors.isEmpty)
        #expect(code { _ = try store.read(id()) } == .notInstalled)
        try store.install(link(), description())
        try store.install(link("a.b"), description("a.b"))
        #expect(try store.list().extensions.map(\.id.text) == ["a.b", "com.example.conference"])
        let read = try store.read(id())
        #expect(try read.description == description() && read.service == link() && read.programs.isEmpty)
        #expect(try folder.mode("extensions") == 0o700)
        #expect(try folder.mode("extensions/com.example.conference.json") == 0o600)
        try store.remove(id())
        #expect(
            try store.list().extensions.map(\.id.text) == ["a.b"] && code { try store.remove(id()) } == .notInstalled)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.extensions) == ["a.b.json"])
    }

    @Test func installingAgainUpdatesTheDescriptionOnly() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try folder.write(
            "com.example.conference.json", manifest(more: #","icon":"/usr/x.png","setup":"/bin/sh","upload":"/bin/sh""#)
        )
        try store.install(link().at(host: "::1", port: 1), description(name: "New"))
        let read = try store.read(id())
        #expect(read.name == "New" && read.service?.host == "::1" && read.icon == "/usr/x.png")
        #expect(read.setup == "/bin/sh" && read.upload == "/bin/sh")
    }

    /// Otherwise a link from anywhere would take the place of the pinned certificate.
    @Test func anotherCertificateIsNotInstalledOverThePinnedOne() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try store.install(link(), description())
        #expect(code { try store.install(link(print: 2), description()) } == .otherCertificate)
        #expect(try store.read(id()).service == link())
        try store.remove(id())
        try store.install(link(print: 2), description())
        #expect(try store.read(id()).service == link(print: 2))
        #expect(code { try store.install(link(), description("a.b")) } == .otherID)
    }

    @Test func anExtensionWithProgramsIsInstalledByItsManifest() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        let text = #"{"id": "com.example.conference", "name": "X", "upload": "upload", "setup": "/bin/sh"}"#
        try folder.write("manifest.json", text)
        let file = folder.extensions + "/manifest.json"
        #expect(code { try store.install(file: file) } == .notExecutable)
        try folder.write("upload", "#!/bin/sh\n", mode: 0o700)
        try store.install(file: file)
        let read = try store.read(id())
        #expect(read.upload == folder.extensions + "/upload" && read.setup == "/bin/sh" && read.service == nil)
        #expect(read.destination == read.upload)
        // A link does not take the place of the programs.
        #expect(code { try store.install(link(), description()) } == .otherCertificate)

        try folder.write("manifest.json", #"{"id": "com.example.none", "name": "X"}"#)
        #expect(code { try store.install(file: file) } == .malformed)
        try folder.write("manifest.json", text, mode: 0o666)
        #expect(code { try store.install(file: file) } == .writableByOthers)
        #expect(code { try store.install(file: folder.extensions + "/nothing") } == .file)
    }

    @Test func aManifestDoesNotTakeThePlaceOfAPinnedCertificate() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try store.install(link(), description())
        try folder.write("manifest.json", #"{"id": "com.example.conference", "name": "X", "upload": "/bin/sh"}"#)
        #expect(code { try store.install(file: folder.extensions + "/manifest.json") } == .otherCertificate)
        #expect(try store.read(id()).service == link())
    }

    @Test func oneBadManifestDoesNotHideTheOthers() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try store.install(link("com.example.good"), description("com.example.good"))
        try folder.write("a.large.json", manifest("a.large") + String(repeating: " ", count: 65_536))
        try folder.write("a.junk.json", "{")
        try folder.write("a.writable.json", manifest("a.writable"), mode: 0o666)
        try folder.write("a.wrong.json", manifest("a.other"))
        try folder.write("a.link.json", manifest("a.link", link: link("a.other")))
        try folder.write("UPPER.case.json", manifest("upper.case"))
        try folder.write("noid.json", manifest("a.b"))
        try folder.write("a.relative.json", manifest("a.relative", more: #","upload":"bin/sh""#))
        try folder.write("a.icon.json", manifest("a.icon", more: #","icon":"../x""#))
        try folder.write("a.escape.json", manifest("a.escape", more: #","icon":"/x\u001b[0m""#))
        try folder.write("a.missing.json", manifest("a.missing", more: #","setup":"/nothing/here""#))
        try folder.write("a.directory.json", manifest("a.directory", more: #","setup":"/usr""#))
        try folder.write(
            "a.name.json", manifest("a.name").replacing(#""X""#, with: "\"\(String(repeating: "n", count: 65))\""))
        try folder.write("a.http.json", manifest("a.http").replacing("https:", with: "http:"))
        try folder.write("program", "#!/bin/sh\n", mode: 0o600)
        try folder.write("a.plain.json", manifest("a.plain", more: ",\"setup\":\"\(folder.extensions)/program\""))
        try folder.write("open", "#!/bin/sh\n", mode: 0o777)
        try folder.write("a.open.json", manifest("a.open", more: ",\"setup\":\"\(folder.extensions)/open\""))
        symlink("com.example.good.json", folder.extensions + "/a.symlink.json")
        mkfifo(folder.extensions + "/a.pipe.json", 0o600)
        mkdir(folder.extensions + "/a.folder.json", 0o700)
        try folder.write("ignored.txt", "x")

        let listing = try store.list()
        #expect(listing.extensions.map(\.id.text) == ["com.example.good"])
        let expected: [(String, ExtensionError.Code)] = [
            ("a.large", .tooLarge), ("a.junk", .malformed), ("a.writable", .writableByOthers), ("a.wrong", .otherID),
            ("a.link", .otherID), ("a.relative", .relativePath), ("a.icon", .relativePath),
            ("a.escape", .relativePath), ("a.missing", .notExecutable), ("a.directory", .notExecutable),
            ("a.name", .malformed), ("a.http", .malformed), ("a.plain", .notExecutable),
            ("a.open", .writableByOthers), ("a.symlink", .notAFile), ("a.pipe", .notAFile), ("a.folder", .notAFile),
        ]
        for (name, code) in expected {
            #expect(self.code { _ = try store.read(id(name)) } == code, "\(name)")
            #expect(listing.errors.contains { $0.code == code && $0.description.contains(name) }, "\(name)")
        }
        #expect(listing.errors.count == expected.count + 2)
        for name in ["UPPER.case", "noid"] {
            #expect(listing.errors.contains { $0.code == .otherID && $0.description.contains(name) })
        }
        for error in listing.errors {
            #expect(!error.description.unicodeScalars.contains { $0.value < 0x20 }, "\(error)")
        }
    }

    @Test func whatIsBadCanBeRemovedOrReplaced() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try folder.write("a.b.json", "{")
        try folder.write("target", "untouched")
        symlink("target", folder.extensions + "/c.d.json")
        try store.install(link("c.d"), description("c.d"))
        #expect(try String(contentsOfFile: folder.extensions + "/target", encoding: .utf8) == "untouched")
        #expect(try store.read(id("c.d")).service == link("c.d"))
        try store.remove(id("a.b"))
        #expect(try store.list().errors.isEmpty)
    }

    @Test func filesOfAnotherUserAreNotBelieved() throws {
        let folder = try TemporaryDirectory()
        try ExtensionStore(directory: folder.path).install(link(), description())
        let other = ExtensionStore(directory: folder.path, owner: Int(geteuid()) + 1)
        for found in [
            code { _ = try other.list() }, code { _ = try other.read(id()) },
            code { try other.install(link(), description()) },
        ] { #expect(found == .writableByOthers) }
        #expect(throws: (any Error).self) {
            try PrivateFile.read(folder.extensions + "/com.example.conference.json", limit: 9_999, owner: 99_999)
        }
    }

    @Test func aDirectoryThatOthersMayWriteToIsRefused() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        try store.install(link(), description())
        chmod(folder.extensions, 0o777)
        #expect(code { _ = try store.list() } == .writableByOthers)
        #expect(code { try store.install(link(), description()) } == .writableByOthers)
        try FileManager.default.removeItem(atPath: folder.extensions)
        try Data().write(to: URL(fileURLWithPath: folder.extensions))
        #expect(code { _ = try store.list() } == .directory && code { try store.remove(id()) } == .notInstalled)
    }

    @Test func extensionsAreFew() throws {
        let folder = try TemporaryDirectory()
        for number in 0..<260 { try folder.write("a.n\(number).json", manifest("a.n\(number)")) }
        let listing = try ExtensionStore(directory: folder.path).list()
        #expect(listing.extensions.count == 256 && listing.errors.map(\.code) == [.tooMany])
    }

    /// Whatever a description may hold fits into the file.
    @Test func theLargestDescriptionIsInstalled() throws {
        let folder = try TemporaryDirectory()
        let store = ExtensionStore(directory: folder.path)
        let quotes = String(repeating: "\"\\ ", count: 16_384 / 3)
        let fields = try (0..<16).map {
            try SetupField(name: "f\($0)", label: String(repeating: "\u{1F680}", count: 64))
        }
        let description = try ServiceDescription(
            id: id(), name: String(repeating: "\u{1F680}", count: 64), fields: fields, terms: quotes)
        try store.install(link(), description)
        #expect(try store.read(id()).description == description)
    }
}

@Suite struct PreferredServiceTests {
    @Test func itIsSetReadAndCleared() throws {
        let folder = try TemporaryDirectory()
        let preferred = PreferredService(directory: folder.path)
        #expect(try preferred.get() == nil)
        let ids = try ["com.example.a", "com.example.b"].map { try #require(ServiceID($0)) }
        for id in ids {
            try preferred.set(id)
            #expect(try preferred.get() == id && folder.mode("preferred-service") == 0o600)
        }
        try preferred.clear()
        try preferred.clear()
        #expect(try preferred.get() == nil)
        try PreferredService(directory: folder.path + "/not/there").set(ids[0])
    }

    @Test func aStrangeFileIsRefused() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/preferred-service"
        let preferred = PreferredService(directory: folder.path)
        func code() -> ExtensionError.Code? {
            do throws(ExtensionError) {
                _ = try preferred.get()
                return nil
            } catch {
                return error.code
            }
        }
        for (text, expected) in [
            ("", ExtensionError.Code.malformed), ("../x", .malformed), ("a.b\nc.d_\n", .malformed),
            (String(repeating: "a", count: 1_025), .tooLarge),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
            #expect(code() == expected, "\(text.prefix(20))")
        }
        chmod(path, 0o666)
        #expect(code() == .writableByOthers)
        unlink(path)
        symlink("elsewhere", path)
        #expect(code() == .notAFile)
        try preferred.set(try #require(ServiceID("a.b")))
        #expect(try preferred.get()?.text == "a.b")
    }
}
