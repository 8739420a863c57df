extension MatroskaFile {
    /// A piece of the file behind its header.
    public enum Piece: Equatable, Sendable {
        case cluster(Element)
        /// Cues, a Void element, or another element that is no cluster.
        case other(Element)
        /// Bytes that are no element, up to the next cluster or to the end of the file.
        case damage(Range<Int>)
    }

    /// Calls `body` with each piece behind the header, in order, until it returns false.
    ///
    /// Damage ends at the next whole cluster. The time is in proportion to the file's length.
    public func forEachPiece(_ body: (Piece) throws -> Bool) rethrows {
        var position = bodyStart
        var budget = source.length.multipliedReportingOverflow(by: 2).partialValue + 2 * Self.largestCluster
        while position < source.length {
            let piece = piece(at: position, &budget)
            switch piece {
            case .cluster(let element), .other(let element): position = element.end
            case .damage(let range): position = range.upperBound
            }
            guard try body(piece) else { return }
        }
    }

    private func piece(at position: Int, _ budget: inout Int) -> Piece {
        let before = budget
        if let element = element(at: position) ?? openCluster(at: position, &budget) {
            if element.id == .cluster {
                if cluster(element) != nil {
                    budget = before
                    return .cluster(element)
                }
            } else if Self.topLevel.contains(element.id) {
                return .other(element)
            }
        }
        return .damage(position..<nextCluster(after: position, &budget))
    }

    /// A cluster of unknown size, as live streams have them: it ends before the next element of a segment, or with the
    /// last whole element of the file (RFC 8794 section 6.2).
    private func openCluster(at start: Int, _ budget: inout Int) -> Element? {
        guard let header = ElementHeader(source.bytes(at: start, count: ElementHeader.longest)),
            header.id == .cluster, header.size == nil
        else { return nil }
        let content = start + header.length
        var end = content
        while budget > 0, let child = element(at: end),
            child.id == .void || child.id != .cluster && !Self.topLevel.contains(child.id),
            child.id != .ebml, child.id != .segment
        {
            // False starts may be many, and each look at an element costs more than its bytes.
            budget -= 64
            guard child.end - content <= Self.largestCluster else { return nil }
            end = child.end
        }
        return end > content ? Element(id: .cluster, start: start, content: content..<end) : nil
    }

    /// The elements of a segment (RFC 9559 section 5.1), apart from clusters: Chapters, Tags and Attachments too.
    static var topLevel: Set<ElementID> {
        [
            .void, .seekHead, .info, .tracks, .cues, ElementID(0x1043_A770), ElementID(0x1254_C367),
            ElementID(0x1941_A469),
        ]
    }

    /// Where the next whole cluster begins, or the end of the file.
    /// - Parameter budget: bytes that may still be read for false starts, which a payload may have by design.
    private func nextCluster(after position: Int, _ budget: inout Int) -> Int {
        let id: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
        let step = 1 << 16
        var start = position + 1
        while start < source.length, budget > 0 {
            let bytes = source.bytes(at: start, count: step + id.count - 1)
            guard bytes.count >= id.count else { break }
            for index in 0...(bytes.count - id.count) where bytes[index] == id[0] {
                guard bytes[index + 1] == id[1], bytes[index + 2] == id[2], bytes[index + 3] == id[3],
                    let found = element(at: start + index) ?? openCluster(at: start + index, &budget)
                else { continue }
                if cluster(found) != nil { return start + index }
                budget -= min(found.content.count, Self.largestCluster)
                if budget <= 0 { break }
            }
            start += bytes.count - id.count + 1
        }
        return source.length
    }
}
