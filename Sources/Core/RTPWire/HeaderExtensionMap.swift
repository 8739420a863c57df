/// Which id stands for which header extension in one session, as the descriptions agreed (`a=extmap`). RFC 8285 section
/// 5.
public struct HeaderExtensionMap: Hashable, Sendable {
    /// Ids of the one-byte form; RFC 8285 section 4.2.
    public static let oneByteIDs: ClosedRange<UInt8> = 1...14
    /// Data of the one-byte form, in bytes.
    static let oneByteLengths = 1...16

    /// By the extension's raw value; 0: not agreed.
    private var ids = SIMD16<UInt8>()

    public init() {}

    /// 1...255; nil if it was not agreed. Setting 0 removes it.
    public subscript(_ kind: HeaderExtension) -> UInt8? {
        get {
            let id = ids[Int(kind.rawValue)]
            return id == 0 ? nil : id
        }
        set { ids[Int(kind.rawValue)] = newValue ?? 0 }
    }

    public var isEmpty: Bool { ids == SIMD16() }

    /// The extension that has this id; nil if none has it.
    public func kind(of id: UInt8) -> HeaderExtension? {
        guard id != 0 else { return nil }
        var raw: UInt8 = 0
        while let kind = HeaderExtension(rawValue: raw) {
            if ids[Int(raw)] == id { return kind }
            raw &+= 1
        }
        return nil
    }

    /// What both maps have under the same id. Sections of one bundle share one numbering.
    public func common(with other: HeaderExtensionMap) -> HeaderExtensionMap {
        var result = self
        result.ids.replace(with: 0, where: ids .!= other.ids)
        return result
    }

    /// Those that a section of audio uses.
    public var forAudio: HeaderExtensionMap {
        var result = self
        HeaderExtension.forEach { if !$0.isForAudio { result[$0] = nil } }
        return result
    }

    /// Every extension, numbered from 1 on: what an offer of ours says.
    public static let offered: HeaderExtensionMap = {
        var map = HeaderExtensionMap()
        HeaderExtension.forEach { map[$0] = $0.rawValue &+ 1 }
        return map
    }()

    /// An element of these does not fit the one-byte form; RFC 8285 section 4.2.
    static func needsTwoByteForm(id: UInt8, length: Int) -> Bool {
        !oneByteIDs.contains(id) || !oneByteLengths.contains(length)
    }
}

extension HeaderExtensionMap: ExpressibleByDictionaryLiteral {
    /// An id of nil or 0 is none.
    public init(dictionaryLiteral elements: (HeaderExtension, UInt8?)...) {
        for (kind, id) in elements { self[kind] = id }
    }
}
