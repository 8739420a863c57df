internal import CXCB
internal import Glibc

extension KeyboardMap {
    /// Reads the layout. Takes one round trip.
    /// - Returns: nil when the connection is lost.
    init?(_ connection: ControlConnection) {
        let parts =
            XCB_XKB_MAP_PART_KEY_TYPES.rawValue | XCB_XKB_MAP_PART_KEY_SYMS.rawValue
            | XCB_XKB_MAP_PART_MODIFIER_MAP.rawValue | XCB_XKB_MAP_PART_VIRTUAL_MODS.rawValue
            | XCB_XKB_MAP_PART_VIRTUAL_MOD_MAP.rawValue
        let cookie = xcb_xkb_get_map(
            connection.raw, ControlConnection.coreKeyboard, UInt16(parts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            0)
        guard let reply = xcb_xkb_get_map_reply(connection.raw, cookie, nil) else { return nil }
        defer { free(reply) }
        let facts = reply.pointee
        guard let buffer = xcb_xkb_get_map_map(reply) else { return nil }
        var map = xcb_xkb_get_map_map_t()
        xcb_xkb_get_map_map_unpack(
            buffer, facts.nTypes, facts.nKeySyms, facts.nKeyActions, facts.totalActions, facts.totalKeyBehaviors,
            facts.virtualMods, facts.totalKeyExplicit, facts.totalModMapKeys, facts.totalVModMapKeys, facts.present,
            &map)
        let types = Self.types(reply, map)
        let modifiers = Self.modifiers(reply, map)
        var keys: [Key] = []
        var symbols = xcb_xkb_get_map_map_syms_rtrn_iterator(reply, &map)
        var keycode = Int(facts.firstKeySym)
        while symbols.rem > 0, let symbol = symbols.data, let code = UInt8(exactly: keycode) {
            keys.append(Self.key(code, symbol, types, modifiers[code] ?? []))
            keycode += 1
            xcb_xkb_key_sym_map_next(&symbols)
        }
        self.init(keys)
    }

    private static func types(
        _ reply: UnsafeMutablePointer<xcb_xkb_get_map_reply_t>, _ map: xcb_xkb_get_map_map_t
    ) -> [KeyType] {
        var map = map
        var types: [KeyType] = []
        var iterator = xcb_xkb_get_map_map_types_rtrn_iterator(reply, &map)
        while iterator.rem > 0, let type = iterator.data {
            var levels: [Modifiers: Int] = [:]
            let count = Int(xcb_xkb_key_type_map_length(type))
            for entry in UnsafeBufferPointer(start: xcb_xkb_key_type_map(type), count: count) where entry.active != 0 {
                levels[Modifiers(rawValue: entry.mods_mask)] = Int(entry.level)
            }
            types.append(KeyType(mask: Modifiers(rawValue: type.pointee.mods_mask), levels: levels))
            xcb_xkb_key_type_next(&iterator)
        }
        return types
    }

    /// What each modifier key turns on: by the map of modifiers, and by that of virtual ones.
    private static func modifiers(
        _ reply: UnsafeMutablePointer<xcb_xkb_get_map_reply_t>, _ map: xcb_xkb_get_map_map_t
    ) -> [UInt8: Modifiers] {
        var map = map
        var found: [UInt8: Modifiers] = [:]
        let own = UnsafeBufferPointer(start: map.modmap_rtrn, count: Int(reply.pointee.totalModMapKeys))
        for entry in own where entry.mods != 0 { found[entry.keycode] = Modifiers(rawValue: entry.mods) }
        // The server lists those that were asked for, from the lowest bit up.
        var real = [UInt8](repeating: 0, count: 16)
        var next = 0
        let listed = UnsafeBufferPointer(
            start: map.vmods_rtrn, count: Int(xcb_xkb_get_map_map_vmods_rtrn_length(reply, &map)))
        for bit in 0..<16 where reply.pointee.virtualMods & 1 << bit != 0 && next < listed.count {
            real[bit] = listed[next]
            next += 1
        }
        let virtual = UnsafeBufferPointer(start: map.vmodmap_rtrn, count: Int(reply.pointee.totalVModMapKeys))
        for entry in virtual where found[entry.keycode] == nil {
            let bits = (0..<16).reduce(UInt8(0)) { entry.vmods & 1 << $1 == 0 ? $0 : $0 | real[$1] }
            if bits != 0 { found[entry.keycode] = Modifiers(rawValue: bits) }
        }
        return found
    }

    private static func key(
        _ keycode: UInt8, _ symbol: UnsafeMutablePointer<xcb_xkb_key_sym_map_t>, _ types: [KeyType],
        _ modifiers: Modifiers
    ) -> Key {
        let width = Int(symbol.pointee.width)
        let keysyms = UnsafeBufferPointer(
            start: xcb_xkb_key_sym_map_syms(symbol), count: Int(xcb_xkb_key_sym_map_syms_length(symbol)))
        let indices = [
            symbol.pointee.kt_index.0, symbol.pointee.kt_index.1, symbol.pointee.kt_index.2,
            symbol.pointee.kt_index.3,
        ]
        let count = min(Int(symbol.pointee.groupInfo & 0x0F), indices.count)
        let groups: [(type: KeyType, keysyms: [UInt32])] = (0..<count).compactMap { group in
            let end = (group + 1) * width
            guard types.indices.contains(Int(indices[group])), end <= keysyms.count else { return nil }
            return (types[Int(indices[group])], Array(keysyms[(group * width)..<end]))
        }
        return Key(keycode: keycode, groups: groups, groupInfo: symbol.pointee.groupInfo, modifiers: modifiers)
    }
}
