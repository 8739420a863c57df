/// The ids of the header extensions in one session, as negotiated (`a=extmap`). RFC 8285 section 5.
public struct HeaderExtensionMap: Hashable, Sendable {
    /// Ids of the one-byte form; RFC 8285 section 4.2.
    public static let oneByteIDs: ClosedRange<UInt8> = 1...14
    /// The data lengths of the one-byte form, in bytes.
    static let oneByteLengths = 1...16

    /// Indexed by the extension's raw value; 0: not negotiated.
    private var ids = SIMD16<UInt8>()

    public init() {}

    /// 1...255; nil if it is not negotiated. Setting 0 removes it.
    public subscript(_ kind: HeaderExtension) -> UInt8? {
        get {
            let id = ids[Int(kind.rawValue)]
            return id == 0 ? nil : id
        }
        set { ids[Int(kind.rawValue)] = newValue ?? 0 }
    }

    public var isEmpty: Bool { ids == SIMD16() }

    /// Returns the extension that has this id; nil if there is none.
    public func kind(of id: UInt8) -> HeaderExtension? {
        guard id != 0 else { return nil }
        var raw: UInt8 = 0
        while let kind = HeaderExtension(rawValue: raw) {
            if ids[Int(raw)] == id { return kind }
            raw &+= 1
        }
        return nil
    }

    /// Returns the extensions that both maps have under the same id. Sections of one bundle share one numbering.
    public func common(with other: HeaderExtensionMap) -> HeaderExtensionMap {
        var result = self
        result.ids.replace(with: 0, where: ids .!= other.ids)
        return result
    }

    /// The extensions that apply to audio.
    public var forAudio: HeaderExtensionMap {
        var result = self
        HeaderExtension.forEach { if !$0.isForAudio { result[$0] = nil } }
        return result
    }

    /// Every extension, numbered from 1 on, for offers.
    public static let offered: HeaderExtensionMap = {
        var map = HeaderExtensionMap()
        HeaderExtension.forEach { map[$0] = $0.rawValue &+ 1 }
        return map
    }()

    /// Whether an element does not fit the one-byte form; RFC 8285 section 4.2.
    static func needsTwoByteForm(id: UInt8, length: Int) -> Bool {
        !oneByteIDs.contains(id) || !oneByteLengths.contains(length)
    }
}

extension HeaderExtensionMap: ExpressibleByDictionaryLiteral {
    /// Extensions with an id of nil or 0 are left out.
    public init(dictionaryLiteral elements: (HeaderExtension, UInt8?)...) {
        for (kind, id) in elements { self[kind] = id }
    }
}
