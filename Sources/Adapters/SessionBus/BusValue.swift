import CGIO

/// A value of a message: the D-Bus types that this project uses.
package indirect enum BusValue: Sendable, Equatable {
    case boolean(Bool)
    case int32(Int32)
    case uint16(UInt16)
    case uint32(UInt32)
    case double(Double)
    case text(String)
    case path(String)
    case bytes([UInt8])
    /// All elements have the type `of`, a D-Bus signature such as "s" or "{sv}".
    case array(of: String, [BusValue])
    case tuple([BusValue])
    /// A key with its value, in an array of such.
    case entry(BusValue, BusValue)
    case variant(BusValue)
    /// Of a type that is not read, or nested too deeply.
    case other(String)

    /// A dictionary from text to anything (a{sv}).
    package static func dictionary(_ values: KeyValuePairs<String, BusValue>) -> BusValue {
        .array(of: "{sv}", values.map { .entry(.text($0.key), .variant($0.value)) })
    }

    // MARK: Reading

    package var isTrue: Bool? {
        if case .boolean(let value) = bare { value } else { nil }
    }

    /// Text, or an object path.
    package var text: String? {
        switch bare {
        case .text(let text), .path(let text): text
        default: nil
        }
    }

    package var number: Int? {
        switch bare {
        case .int32(let value): Int(value)
        case .uint16(let value): Int(value)
        case .uint32(let value): Int(value)
        default: nil
        }
    }

    /// The elements of an array or a tuple.
    package var list: [BusValue]? {
        switch bare {
        case .array(_, let values), .tuple(let values): values
        default: nil
        }
    }

    /// The value that a dictionary has for a key.
    package subscript(_ key: String) -> BusValue? {
        for case .entry(let name, let value) in list ?? [] where name.text == key { return value.bare }
        return nil
    }

    /// Without the variants around it.
    private var bare: BusValue {
        if case .variant(let value) = self { value.bare } else { self }
    }

    // MARK: GVariant

    /// How many elements of a container, and how many levels of containers, are read.
    private static let (elements, levels) = (1_024, 16)

    init(_ variant: OpaquePointer, level: Int = 0) {
        let type = g_variant_get_type_string(variant).map { String(cString: $0) } ?? ""
        func children() -> [BusValue] {
            (0..<min(Int(g_variant_n_children(variant)), Self.elements)).compactMap { index in
                guard let child = g_variant_get_child_value(variant, gsize(index)) else { return nil }
                defer { g_variant_unref(child) }
                return BusValue(child, level: level + 1)
            }
        }
        let text = { g_variant_get_string(variant, nil).map { String(cString: $0) } ?? "" }
        switch type.first {
        case "b": self = .boolean(g_variant_get_boolean(variant) != 0)
        case "i": self = .int32(g_variant_get_int32(variant))
        case "q": self = .uint16(g_variant_get_uint16(variant))
        case "u": self = .uint32(g_variant_get_uint32(variant))
        case "d": self = .double(g_variant_get_double(variant))
        case "s": self = .text(text())
        case "o": self = .path(text())
        case _ where level >= Self.levels: self = .other(type)
        case "a" where type == "ay":
            var count: gsize = 0
            let first = g_variant_get_fixed_array(variant, &count, 1)
            self = .bytes(first.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(count))) } ?? [])
        case "a": self = .array(of: String(type.dropFirst()), children())
        case "(": self = .tuple(children())
        case "{":
            let pair = children()
            self = pair.count == 2 ? .entry(pair[0], pair[1]) : .other(type)
        case "v": self = children().first.map { .variant($0) } ?? .other(type)
        default: self = .other(type)
        }
    }

    /// A floating reference. A value that is `.other` is an empty text.
    var variant: OpaquePointer? {
        switch self {
        case .boolean(let value): return g_variant_new_boolean(value ? 1 : 0)
        case .int32(let value): return g_variant_new_int32(value)
        case .uint16(let value): return g_variant_new_uint16(value)
        case .uint32(let value): return g_variant_new_uint32(value)
        case .double(let value): return g_variant_new_double(value)
        case .text(let text): return g_variant_new_string(text)
        case .path(let path): return g_variant_new_object_path(path)
        case .bytes(let bytes):
            return Self.withType("y") { g_variant_new_fixed_array($0, bytes, gsize(bytes.count), 1) }
        case .array(let element, let values):
            let children = values.map(\.variant)
            return Self.withType(element) { g_variant_new_array($0, children, gsize(children.count)) }
        case .tuple(let values):
            let children = values.map(\.variant)
            return g_variant_new_tuple(children, gsize(children.count))
        case .entry(let key, let value): return g_variant_new_dict_entry(key.variant, value.variant)
        case .variant(let value): return g_variant_new_variant(value.variant)
        case .other: return g_variant_new_string("")
        }
    }

    private static func withType<Result>(_ signature: String, _ body: (OpaquePointer?) -> Result) -> Result {
        let type = g_variant_type_new(signature)
        defer { g_variant_type_free(type) }
        return body(type)
    }
}
