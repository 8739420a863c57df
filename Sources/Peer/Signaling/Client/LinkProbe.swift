import Glibc
import HTTP
public import Identifiers
import NIOCore
import NIOPosix

/// Checks the connection to a link's host step by step, without knocking, and reports the step that fails.
public enum LinkProbe {
    public struct Step: Sendable, Equatable {
        public var subject: String
        public var what: String
        public var isGood = true
        /// The advice for the user; empty if the step succeeded.
        public var remedy = ""
    }

    /// Stops at the first step that fails. Takes about 10 s at most.
    public static func check(_ link: Link) async -> [Step] {
        var steps: [Step] = []
        let addresses = await ServerLookup.addresses(of: link.host)
        guard let first = addresses.first else {
            return [
                Step(
                    subject: "name", what: "no computer is known as \(link.host)", isGood: false,
                    remedy: "check the link and this machine's name service, or ask for a link with an address")
            ]
        }
        let isName = addresses != [link.host]
        steps.append(
            Step(
                subject: "name",
                what: isName ? "\(link.host) is \(addresses.joined(separator: " and "))" : "\(first), an address"))
        let (tcp, isOpen) = await connect(link, addresses)
        steps.append(tcp)
        guard isOpen else { return steps }
        return steps + (await checkLink(link))
    }

    private static func connect(_ link: Link, _ addresses: [String]) async -> (Step, Bool) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task.detached { try? await group.shutdownGracefully() } }
        var step = Step(subject: "tcp", what: "", isGood: false)
        for text in addresses {
            guard let address = try? SocketAddress(ipAddress: text, port: link.port) else { continue }
            let begin = ContinuousClock.now
            do {
                let channel = try await ClientBootstrap(group: group).connectTimeout(.seconds(4)).connect(to: address)
                    .get()
                channel.close(promise: nil)
                let milliseconds = (ContinuousClock.now - begin) / .milliseconds(1)
                step.what = "port \(link.port) at \(text) opens after \((milliseconds * 10).rounded() / 10) ms"
                step.isGood = true
                step.remedy = ""
                return (step, true)
            } catch let error as IOError where error.errnoCode == ECONNREFUSED {
                let refusal = SignalingError.connectionRefused(port: link.port, at: text)
                step.what = refusal.description
                step.remedy = refusal.remedy
            } catch let error as IOError {
                step.what = "\(text) cannot be reached: \(String(cString: strerror(error.errnoCode)))"
                step.remedy =
                    "connect to the host's network or VPN; the address may be a private one of another network"
            } catch {
                step.what = "port \(link.port) of \(text) does not answer within 4 s"
                step.remedy =
                    "a firewall drops it, or the address is a private one of another network: "
                    + "let the host's router forward TCP port \(link.port), or use a VPN"
            }
        }
        return (step, false)
    }

    private static func checkLink(_ link: Link) async -> [Step] {
        let certificate = Step(
            subject: "certificate",
            what: link.flags.contains(.webPKI)
                ? "it is valid for \(link.host), as this computer's authorities say"
                : "it is the one that the link names")
        do {
            let client = try SignalingClient(link: link)
            defer { Task.detached { await client.close() } }
            let status = try await client.pageStatus()
            let page: Step
            switch status {
            case 200: page = Step(subject: "broadcast", what: "it is there; nobody was asked")
            case 404:
                let old = SignalingError.oldLink
                page = Step(subject: "broadcast", what: old.description, isGood: false, remedy: old.remedy)
            case 429:
                page = Step(
                    subject: "broadcast", what: "the host limits requests from here", isGood: false,
                    remedy: "wait a minute, and try again")
            default:
                page = Step(
                    subject: "broadcast", what: "the host answers with status \(status)", isGood: false,
                    remedy: "ask for the link again")
            }
            return [certificate, page]
        } catch {
            guard error.code != .certificateUntrusted else {
                return [
                    Step(
                        subject: "certificate", what: error.description, isGood: false, remedy: error.remedy)
                ]
            }
            let isStranger = error.code == .certificateMismatch
            return [
                Step(
                    subject: isStranger ? "certificate" : "tls", what: error.description, isGood: false,
                    remedy: isStranger
                        ? "ask for a new link over a way that you trust; do not go on"
                        : "something that is not share listens there, or a proxy intercepts it: check the port")
            ]
        }
    }
}
