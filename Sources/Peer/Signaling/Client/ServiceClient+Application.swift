public import Admission
import FoundationEssentials
public import HTTP
import NIOCore
import NIOHTTP1

extension ServiceClient {
    private static let timeout = Duration.seconds(5)

    /// Says which application the broadcast shows now.
    /// - Throws: `.gone` if there is no broadcast, or the service is not told of applications; `.timedOut` after 5 s.
    public func tell(application: ApplicationInfo) async throws(SignalingError) {
        guard let body = try? JSONEncoder().encode(application) else { return }
        let answer = try await http.ask(
            .PUT, path("/application"), type: "application/json", body: ByteBuffer(bytes: body), timeout: Self.timeout)
        guard answer.status == 204 else { throw http.failure(answer) }
    }
}
