import Foundation
import ShareKit

/// Asks the user, before each broadcast, what the upload program has to know.
@main final class Setup: BroadcastSetup {
    override func setUp(for application: SampleHandler.Application) -> [String: String]? {
        FileHandle.standardError.write(Data("  Title of the broadcast (empty: do not broadcast): ".utf8))
        guard let title = readLine(), !title.isEmpty else { return nil }
        return ["title": title]
    }
}
