public import Foundation

/// A folder of the test's own, for nobody else to read; gone with the value.
public final class TemporaryFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("share-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public var path: String { url.path }

    public func file(_ name: String) -> String { url.appendingPathComponent(name).path }
}
