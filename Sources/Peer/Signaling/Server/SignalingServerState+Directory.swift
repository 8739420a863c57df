import Admission
import HTTP
import HTTPTypes
import NIOCore

/// The directory: `GET /broadcasts` lists the broadcasts whose hosts want that, `GET /broadcasts/ID/icon` is the image
/// of an application.
extension SignalingServerState {
    func directory(_ call: RouteRequest) -> RouteResponse {
        guard let directory else { return .notFound }
        switch (call.path.count, call.path.last) {
        case (1, _):
            return get(call) {
                var query = BroadcastDirectory.Query()
                query.application = call.parameter("app")
                query.region = call.parameter("region")
                return directory.response(to: query)
            }
        case (3, "icon"): return get(call) { icon(of: call.path[1], in: directory) }
        default: return .notFound
        }
    }

    private func icon(of broadcast: Substring, in directory: DirectoryTable) -> RouteResponse {
        let name = String(broadcast)
        guard let icon = directory.with({ $0[name]?.icon }) else { return .notFound }
        var response = RouteResponse(.ok, [.contentType: "image/png"])
        response.body = ResponseBody(ByteBuffer(bytes: icon.bytes))
        return response
    }
}

extension RouteRequest {
    /// The value of a field of the query, with its escapes resolved; nil if there is none, or it is empty or broken.
    func parameter(_ name: String) -> String? {
        for field in query.split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == name else { continue }
            return Self.unescaped(parts[1])
        }
        return nil
    }

    /// RFC 3986 section 2.1.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
