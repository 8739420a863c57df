import HTTP
import HTTPTypes
import Identifiers
import Identity
import MediaCore
import NIOCore
import Synchronization

/// The viewers' side.
extension ReverseTunnel {
    /// Forwards a request, and waits for the beginning of the host's response.
    /// - Parameter socket: what the request opens; nil: nothing.
    func forward(_ call: RouteRequest, opening socket: MessageSocket? = nil) async -> RouteResponse {
        await withCheckedContinuation { continuation in
            let result: Result<Int, Refusal> = state.withLock { state in
                if state.hasEnded { return .failure(Refusal(ended)) }
                guard let stream = state.stream else { return .failure(Refusal(absent)) }
                let waiting = AddressShares(state.pending.values.filter { $0.head != nil }.map(\.address))
                guard waiting.total < limits.pending,
                    waiting.hasRoom(for: call.address.key, share: limits.pendingOfAddress, of: limits.pending)
                else {
                    return .failure(Refusal(crowded))
                }
                guard socket == nil || state.sockets(of: call.address.key) < limits.sockets.ofAddress else {
                    return .failure(Refusal(crowded))
                }
                let number = state.count + 1
                guard let text = ForwardedFields.event(call, number: number, isSocket: socket != nil) else {
                    return .failure(Refusal(tooLarge))
                }
                let bytes = text.utf8.count
                guard state.unwritten + bytes <= limits.unwritten, takeBytes(bytes, of: call.address.key, &state),
                    case .enqueued = stream.feed.yield(Outgoing(text: text, number: number))
                else { return .failure(Refusal(crowded)) }
                state.count = number
                state.usedAt = .now
                state.unwritten += bytes
                let limit = limits.response
                let timer = Task { [weak self] in
                    guard (try? await Task.sleep(for: limit)) != nil, let self else { return }
                    cancel(number, late, ifWaiting: true)
                }
                state.pending[number] = Pending(
                    address: call.address.key, head: continuation, timer: timer, socket: socket)
                return .success(number)
            }
            switch result {
            case .success(let number):
                call.connection.closed.whenComplete { [weak self] _ in
                    guard let self else { return }
                    cancel(number, absent, ifWaiting: false)
                }
            case .failure(let refusal): continuation.resume(returning: refusal.reply)
            }
        }
    }

    /// Takes the bytes of a request from those of its address and, while more than half of the counts are in use, from
    /// those of the networks around it.
    private func takeBytes(_ bytes: Int, of address: AddressKey, _ state: inout State) -> Bool {
        let now = ContinuousClock.now
        let isCrowded = state.rates.count > limits.addresses / 2
        if state.rates[address] == nil, state.rates.count + address.networks.count >= limits.addresses {
            for (other, var bucket) in state.rates {
                bucket.refill(now)
                if bucket.isFull() { state.rates[other] = nil }
            }
        }
        let hasRoom = state.rates[address] != nil || state.rates.count + address.networks.count < limits.addresses
        let keys = hasRoom ? [address] + address.networks : [PeerAddress("").key]
        for (place, key) in keys.enumerated() {
            let shares = Double(key.shares)
            var bucket =
                state.rates[key]
                ?? TokenBucket(
                    burst: limits.bytesOfAddress * shares, rate: limits.bytesOfAddressPerSecond * shares, now: now)
            bucket.refill(now)
            state.rates[key] = bucket
            guard bucket.has(Double(bytes)) || (place > 0 && !isCrowded) else { return false }
        }
        for key in keys where state.rates[key]?.has(Double(bytes)) == true { state.rates[key]?.take(Double(bytes)) }
        return true
    }

    /// Ends a request whose response does not come in time, or whose viewer has gone.
    /// - Parameter ifWaiting: does nothing if the response has begun.
    func cancel(_ number: Int, _ response: RouteResponse, ifWaiting: Bool) {
        let pending: Pending? = state.withLock { state in
            if ifWaiting, state.pending[number]?.head == nil { return nil }
            let pending = state.remove(number)
            // A host that reads nothing connects again, and all are cancelled.
            let event = Outgoing(text: TunnelEvent.cancelled(number).serialized, number: nil)
            if pending != nil, let feed = state.stream?.feed, case .dropped = feed.yield(event) { feed.finish() }
            return pending
        }
        if let pending { Self.fail([pending], response) }
    }

    /// The word for the other side in messages.
    private var noun: String {
        switch id {
        case .broadcast: "host"
        case .service: "service"
        }
    }

    var ended: RouteResponse {
        switch id {
        case .broadcast: RouteResponse(problem: .ended, .gone, "the broadcast has ended")
        case .service: RouteResponse(problem: .ended, .gone, "the service has ended")
        }
    }

    var absent: RouteResponse {
        RouteResponse(
            problem: .unreachable, .serviceUnavailable,
            "the \(noun) is not connected to this relay now; try again in 2 s", retryAfter: 2)
    }

    private var late: RouteResponse {
        RouteResponse(problem: .unreachable, .gatewayTimeout, "the \(noun) does not answer")
    }

    var crowded: RouteResponse {
        RouteResponse(
            problem: .limited, .serviceUnavailable, "too many requests wait for the \(noun); try again in 2 s",
            retryAfter: 2)
    }

    private var tooLarge: RouteResponse {
        RouteResponse(problem: .tooLarge, .contentTooLarge, "the request is too large to be forwarded to the \(noun)")
    }
}
