import ShareKit

/// Conference's upload extension: takes the broadcast to the conference that its manifest names, as the host has encoded
/// it.
@main final class ConferenceUpload: PublishingHandler, @unchecked Sendable {
    override func destination(setupInfo: [String: String]) -> Destination? {
        guard let serviceLink else {
            finishBroadcast(withError: "the manifest names no conference", nextStep: "Install it again.")
            return nil
        }
        return .service(link: serviceLink, setup: setupInfo)
    }
}
