import FoundationEssentials
import LinuxRuntime
import NIOCore
import NIOHTTP1
import NIOPosix

/// Answers the requests of one connection for an offered file.
// SAFETY: used on the channel's event loop alone.
final class OfferedFileHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    struct File: Sendable {
        let path: String
        let name: String
        let size: Int

        /// - Throws: if it cannot be read.
        init(_ path: String) throws {
            let handle = try NIOFileHandle(_deprecatedPath: path)
            defer { try? handle.close() }
            size = try FileRegion(fileHandle: handle).endIndex
            self.path = path
            name = path.split(separator: "/").last.map { String($0) } ?? "recording.webm"
        }
    }

    private static let cookieName = "share-offer"
    private static let chunk = 65_536

    private let file: File
    private let access: Monitor<OfferedFileAccess>
    private let isOnce: Bool
    private let accept: @Sendable (OfferedFile.Request) async -> Bool
    private let report: @Sendable (OfferedFile.Event) -> Void
    private var head: HTTPRequestHead?
    private var isSending = false

    init(
        _ file: File, _ access: Monitor<OfferedFileAccess>, isOnce: Bool,
        accept: @escaping @Sendable (OfferedFile.Request) async -> Bool,
        report: @escaping @Sendable (OfferedFile.Event) -> Void
    ) {
        (self.file, self.access, self.isOnce) = (file, access, isOnce)
        (self.accept, self.report) = (accept, report)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        // No request here has a body.
        case .body: context.close(promise: nil)
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let prefix = access.with { $0.path }
        guard head.method == .GET, head.uri.hasPrefix(prefix) else {
            return page(.notFound, "There is nothing here.", context)
        }
        guard !access.with({ $0.isOver }) else {
            return page(.gone, "This recording was given away already, or is offered no longer.", context)
        }
        switch head.uri.dropFirst(prefix.count) {
        case "": offer(head, context)
        case "file": send(head, context)
        default: page(.notFound, "There is nothing here.", context)
        }
    }

    // MARK: The page

    private func offer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let address = Self.address(of: context)
        guard let cookie = cookie(head) else {
            let cookie = LibraryAccess.randomToken()
            guard access.with({ $0.add(cookie, address: address) }) else {
                return page(.tooManyRequests, "Too many browsers ask for this recording.", context)
            }
            let field = "\(Self.cookieName)=\(cookie); Path=\(access.with { $0.path }); HttpOnly; Secure; SameSite=Lax"
            return page(.ok, "Asking ...", context, refreshes: true, cookie: field)
        }
        // The browser has shown that it keeps the cookie; programs that look a link up for a preview do not.
        if access.with({ $0.ask(cookie) }) {
            let request = OfferedFile.Request(
                address: address, userAgent: head.headers.first(name: "User-Agent") ?? "")
            Task { [access, accept] in
                let isAccepted = await accept(request)
                access.with { $0.answer(cookie, isAccepted) }
            }
        }
        switch access.with({ $0.state(of: cookie) }) {
        case .accepted:
            let size = file.size < 1_000_000 ? "\(file.size / 1_000 + 1) kB" : "\(file.size / 1_000_000) MB"
            page(
                .ok,
                "<a href=\"file\">\(Self.escape(file.name))</a>, \(size)" + (isOnce ? ". It can be saved once." : ""),
                context)
        case .refused: page(.forbidden, "The owner of this recording said no.", context)
        case .new, .asking:
            page(.ok, "Waiting for the owner of this recording to let you have it ...", context, refreshes: true)
        case nil: page(.forbidden, "This browser is not known any more. Open the link again.", context)
        }
    }

    private func cookie(_ head: HTTPRequestHead) -> String? {
        let cookie = LibraryAccess.values(of: Self.cookieName, in: head.headers["Cookie"]).first.map { String($0) }
        return cookie.flatMap { cookie in access.with { $0.state(of: cookie) } == nil ? nil : cookie }
    }

    private static func address(of context: ChannelHandlerContext) -> String {
        context.remoteAddress?.ipAddress ?? "unknown"
    }

    private static func escape(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// - Parameter content: HTML.
    private func page(
        _ status: HTTPResponseStatus, _ content: String, _ context: ChannelHandlerContext, refreshes: Bool = false,
        cookie: String? = nil
    ) {
        let refresh = refreshes ? "<meta http-equiv=\"refresh\" content=\"2\">" : ""
        let text =
            "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
            + "\(refresh)<title>A recording for you</title><h1>A recording for you</h1><p>\(content)</p></html>"
        var headers = Self.headers
        headers.add(name: "Content-Type", value: "text/html; charset=utf-8")
        headers.add(name: "Content-Length", value: "\(text.utf8.count)")
        if let cookie { headers.add(name: "Set-Cookie", value: cookie) }
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    private static let headers: HTTPHeaders = [
        "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ]

    // MARK: The file

    private func send(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let cookie = cookie(head), !isSending, access.with({ $0.begin(cookie) }) else {
            return page(.forbidden, "Open the link again.", context)
        }
        guard let handle = try? NIOFileHandle(_deprecatedPath: file.path) else {
            access.with { $0.end(cookie, isComplete: false) }
            return page(.gone, "The file is not there any more.", context)
        }
        isSending = true
        var headers = Self.headers
        headers.add(name: "Content-Type", value: file.path.hasSuffix(".mkv") ? "video/x-matroska" : "video/webm")
        headers.add(name: "Content-Length", value: "\(file.size)")
        headers.add(name: "Content-Disposition", value: LibraryAnswer.attachment(file.name))
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let address = Self.address(of: context)
        NonBlockingFileIO(threadPool: .singleton).readChunked(
            fileHandle: handle, byteCount: file.size, chunkSize: Self.chunk, allocator: context.channel.allocator,
            eventLoop: context.eventLoop
        ) { buffer in
            let (handler, context) = bound.value
            // The next part is read when this one was written.
            return context.writeAndFlush(handler.wrapOutboundOut(.body(.byteBuffer(buffer))))
        }.flatMap {
            let (handler, context) = bound.value
            return context.writeAndFlush(handler.wrapOutboundOut(.end(nil)))
        }.whenComplete { [access, report, isOnce] result in
            try? handle.close()
            let (handler, context) = bound.value
            handler.isSending = false
            let isComplete = if case .success = result { true } else { false }
            access.with { $0.end(cookie, isComplete: isComplete) }
            report(isComplete ? .sent(address: address) : .interrupted(address: address))
            if isComplete, isOnce { report(.over) }
            if !isComplete { context.close(promise: nil) }
        }
    }
}
