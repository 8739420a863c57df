import Admission
import HTTP
import HTTPTypes

/// `PUT application` with the token of a pairing says which application its broadcast shows now: JSON with id, name and
/// perhaps iconData, as in the pairing.
extension ServiceRoutes {
    /// In bytes: an icon in Base64, and the texts.
    private static let sizeLimit = 32_768

    func application(_ call: RouteRequest) async -> RouteResponse {
        guard call.method == .put else { return .methodNotAllowed("PUT") }
        guard let application = server.document(ApplicationInfo.self, of: call, limit: Self.sizeLimit) else {
            return server.malformed("an application is JSON with id and name, and perhaps an icon")
        }
        return await tell(call) { await service.delegate.annotate(application, by: $0) }
    }
}
