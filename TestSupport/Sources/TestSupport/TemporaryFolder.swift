package import Foundation

/// A folder of the test's own, for nobody else to read; gone with the value.
package final class TemporaryFolder: Sendable {
    package let url: URL

    package init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("share-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package var path: String { url.path }

    package func file(_ name: String) -> String { url.appendingPathComponent(name).path }
}
