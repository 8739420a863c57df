import FoundationEssentials
import LibraryPage
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix

/// The response to a request.
struct LibraryAnswer: Sendable {
    enum Content: Sendable {
        case text(String)
        case file(NIOFileHandle, Range<Int>)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var content: Content

    static var none: Self { text(.notFound, "there is nothing here") }
    static var refusal: Self {
        text(.forbidden, "this address was used already; start share recordings open again")
    }

    static func text(_ status: HTTPResponseStatus, _ text: String) -> Self {
        self.text(status, text, "text/plain; charset=utf-8")
    }

    static func page(_ text: UnsafePointer<CChar>, _ type: String) -> Self {
        self.text(.ok, String(cString: text), type)
    }

    static func json(_ status: HTTPResponseStatus, _ value: some Encodable) -> Self {
        let data = (try? JSONEncoder().encode(value)) ?? Data("null".utf8)
        return text(status, String(decoding: data, as: UTF8.self), "application/json")
    }

    static func text(_ status: HTTPResponseStatus, _ text: String, _ type: String) -> Self {
        Self(
            status: status, headers: ["Content-Type": type, "Content-Length": "\(text.utf8.count)"],
            content: .text(text))
    }

    /// Content-Disposition (RFC 6266) of a file that is saved, with its name (RFC 8187).
    static func attachment(_ name: String) -> String {
        let encoded = name.utf8.map { byte in
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-")
                ? String(UnicodeScalar(byte))
                : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return "attachment; filename*=UTF-8''" + encoded.joined()
    }

    /// A file or a part of it (RFC 9110 section 14).
    static func file(_ path: String, _ type: String, range: String?, isDownload: Bool) -> Self {
        guard let handle = try? NIOFileHandle(_deprecatedPath: path) else { return .none }
        let length = (try? FileRegion(fileHandle: handle).endIndex) ?? 0
        var headers: HTTPHeaders = ["Content-Type": type, "Accept-Ranges": "bytes"]
        if isDownload {
            let name = path.split(separator: "/").last.map { String($0) } ?? "recording.webm"
            headers.add(name: "Content-Disposition", value: attachment(name))
        }
        guard let range else {
            headers.add(name: "Content-Length", value: "\(length)")
            return Self(status: .ok, headers: headers, content: .file(handle, 0..<length))
        }
        guard let part = Self.part(range, of: length) else {
            try? handle.close()
            headers.add(name: "Content-Range", value: "bytes */\(length)")
            headers.add(name: "Content-Length", value: "0")
            return Self(status: .rangeNotSatisfiable, headers: headers, content: .text(""))
        }
        headers.add(name: "Content-Range", value: "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)")
        headers.add(name: "Content-Length", value: "\(part.count)")
        return Self(status: .partialContent, headers: headers, content: .file(handle, part))
    }

    /// One range of bytes: "bytes=0-99", "bytes=100-" or "bytes=-100".
    static func part(_ text: String, of length: Int) -> Range<Int>? {
        guard text.hasPrefix("bytes="), length > 0 else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = Int(ends[1]), count > 0 else { return nil }
            return max(length - count, 0)..<length
        }
        guard let first = Int(ends[0]), first >= 0, first < length else { return nil }
        guard !ends[1].isEmpty else { return first..<length }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return first..<min(last, length - 1) + 1
    }
}
