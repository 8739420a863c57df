#ifndef SHARE_CSQLITE_H
#define SHARE_CSQLITE_H

#include <sqlite3.h>

/// Binds text, which SQLite copies (SQLITE_TRANSIENT is a cast that Swift does not import).
static inline int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

#endif
