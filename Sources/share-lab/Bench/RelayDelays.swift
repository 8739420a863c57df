import FoundationEssentials
import Glibc
import MediaCore
import RelayVerb

/// The delays of a relay's packets, as its page of metrics has them.
struct RelayDelays {
    private var counts = [Int](repeating: 0, count: DelayHistogram.limited + 1)

    /// Reads the page.
    /// - Parameter metrics: `http://address:port`.
    /// - Returns: nil if it cannot be read.
    init?(of metrics: String) {
        guard let place = URLComponents(string: metrics), let host = place.host, let port = place.port,
            let text = Self.page(host, UInt16(truncatingIfNeeded: port))
        else { return nil }
        let name = RelayMetrics.delays + "_bucket{"
        let totals = text.split(separator: "\n").filter { $0.hasPrefix(name) }
            .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
        guard totals.count == counts.count else { return nil }
        for index in counts.indices { counts[index] = totals[index] - (index > 0 ? totals[index - 1] : 0) }
    }

    /// The delay in milliseconds that a share of the packets since another page did not exceed: the upper end of its
    /// range; nil if there were none, or it is longer than all ranges.
    func milliseconds(_ share: Double, since former: RelayDelays) -> Double? {
        let new = zip(counts, former.counts).map { $0 - $1 }
        let total = new.reduce(0, +)
        var count = 0
        for range in 0..<DelayHistogram.limited where total > 0 {
            count += new[range]
            if Double(count) >= share * Double(total) { return DelayHistogram.limit(range).inSeconds * 1_000 }
        }
        return nil
    }

    /// GET /metrics of an IPv4 address.
    private static func page(_ host: String, _ port: UInt16) -> String? {
        let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let isConnected = LoopbackSocket.with(host, port) { connect(file, $0, $1) } == 0
        let request = Array("GET /metrics HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n\r\n".utf8)
        guard isConnected, send(file, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return nil
        }
        var page: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while page.count < 1 << 20 {
            let count = recv(file, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            page += buffer[..<count]
        }
        return String(decoding: page, as: UTF8.self)
    }
}
