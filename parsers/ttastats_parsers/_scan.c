/* Finds the lines that matter in a block of an MLPerf log, as `mlperf_scan.py` says which they are,
 * the fields of a message, as `protobuf.py` does, and the scalars of event files, as `tfevents.py`.
 *
 * It is here for speed only: those modules do the same in Python, and the tests hold the two against
 * each other. It keeps to the stable ABI, so one build serves every Python from 3.11 on: also
 * one made with Python 3.13, whose headers turn formats with `#` into calls that 3.11 refuses. */

#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is found, while it grows. */
typedef struct {
    char *payloads;
    size_t used, room;
    size_t *lines;
    size_t count, lines_room;
} Found;

/* Return the next place of a word, or NULL. It looks for the last letter first, as the tokens end
 * in one that logs seldom use: faster here than `memmem`, also in a short line. */
static const char *find(const char *at, const char *end, const char *word, size_t length)
{
    if ((size_t)(end - at) < length)
        return NULL;
    at += length - 1;
    while ((at = memchr(at, word[length - 1], (size_t)(end - at))) != NULL) {
        if (memcmp(at - length + 1, word, length) == 0)
            return at - length + 1;
        at++;
    }
    return NULL;
}

/* Sums in bytes, which compilers turn into vector instructions, as many as a byte can hold. */
static size_t count_line_feeds(const char *at, const char *end)
{
    size_t count = 0;
    while (at < end) {
        size_t length = (size_t)(end - at) < 255 ? (size_t)(end - at) : 255;
        unsigned char sum = 0;
        for (size_t i = 0; i < length; i++)
            sum += at[i] == '\n';
        count += sum;
        at += length;
    }
    return count;
}

/* A key whose events are left out, but for the first of a block where `keeps_first` says so. */
typedef struct {
    const char *name;
    size_t length;
    int keeps_first;
} Key;

enum { MOST_KEYS = 64 };

typedef struct {
    const char *token;
    size_t token_length;
    size_t longest;
    Key keys[MOST_KEYS];
    size_t count;
    int is_whole;
} Wanted;

/* Return the place behind some bytes, or NULL where they are not next. */
static const char *behind(const char *at, const char *end, const char *word, size_t length)
{
    int is_next = at && (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
    return is_next ? at + length : NULL;
}

/* The same for a literal, whose length is known. */
#define after(at, end, word) behind(at, end, word, sizeof word - 1)

/* Return the next place of a byte, or NULL. */
static const char *next(const char *at, const char *end, char byte)
{
    return at ? memchr(at, byte, (size_t)(end - at)) : NULL;
}

/* Tells whether a payload is in the logger's own field order and has a key to leave out. */
static int is_left_out(const char *at, const char *end, Wanted *wanted)
{
    at = next(after(at, end, "{\"namespace\": \""), end, '"');
    at = next(after(at, end, "\", \"time_ms\": "), end, ',');
    at = next(after(at, end, ", \"event_type\": \""), end, '"');
    at = after(at, end, "\", \"key\": \"");
    const char *stop = next(at, end, '"');
    size_t length = stop ? (size_t)(stop - at) : 0;
    for (size_t i = 0; i < wanted->count; i++) {
        Key *key = &wanted->keys[i];
        if (key->length == length && memcmp(at, key->name, length) == 0) {
            int left_out = !key->keeps_first;
            key->keeps_first = 0;
            return left_out;
        }
    }
    return 0;
}

static const char *behind_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at && at < end && *at >= '0' && *at <= '9')
        at++;
    return at != start ? at : NULL;
}

/* Return the place of the quote that ends a text without escapes, or NULL. Compilers turn the sum
 * into vector instructions. */
static const char *end_of_text(const char *at, const char *end)
{
    const char *stop = next(at, end, '"');
    unsigned char others = 0;
    for (; stop && at < stop; at++)
        others |= ((unsigned char)*at < ' ') | (*at == '\\');
    return others ? NULL : stop;
}

/* Return the place behind the kind of an event, or NULL. */
static const char *behind_kind(const char *at, const char *end)
{
    const char *interval = after(at, end, "INTERVAL_"), *start = after(interval, end, "START");
    if (!interval)
        return after(at, end, "POINT_IN_TIME");
    return start ? start : after(interval, end, "END");
}

/* Write a payload without namespace, kind of event and place in the source, as `_without_place` of
 * `mlperf_scan.py` does: half of it need not be decoded. Return the length of the copy, 0 where the
 * payload is not in the logger's own order of fields. */
static size_t without_place(const char *at, const char *end, char *copy)
{
    const char *time, *key, *value, *before, *rest, *tail;
    time = after(at, end, "{\"namespace\": \"\", ");
    at = behind_digits(after(time, end, "\"time_ms\": "), end);
    key = after(behind_kind(after(at, end, ", \"event_type\": \""), end), end, "\", ");
    value = after(next(after(key, end, "\"key\": \""), end, '"'), end, "\", \"value\": ");
    if (!value || value == end || *value == '{' || *value == '[')
        return 0;
    before = *value == '"' ? after(next(value + 1, end, '"'), end, "\"") : next(value, end, ',');
    rest = after(before, end, ", \"metadata\": {");
    tail = after(end_of_text(after(rest, end, "\"file\": \""), end), end, "\", \"lineno\": ");
    if (!tail || tail == end || *tail == '0' || !(tail = behind_digits(tail, end)))
        return 0;
    if (after(tail, end, ", \""))
        tail += 2;
    else if (after(tail, end, "}}")) { /* nothing is left of the metadata */
        tail += 1;
        rest = before;
    } else
        return 0;
    const char *parts[] = {time, key, tail}, *ends[] = {at + 2, rest, end};
    size_t length = 1;
    *copy = '{';
    for (int i = 0; i < 3; i++) {
        size_t size = (size_t)(ends[i] - parts[i]);
        memcpy(copy + length, parts[i], size);
        length += size;
    }
    return length;
}

/* Return 0, or -1 where memory is short. */
static int add(Found *found, const char *payload, size_t length, size_t line, int is_whole)
{
    if (found->used + length + 1 > found->room) {
        size_t room = 2 * (found->room + length) + 65536;
        char *grown = PyMem_Realloc(found->payloads, room);
        if (!grown)
            return -1;
        found->payloads = grown;
        found->room = room;
    }
    if (found->count == found->lines_room) {
        size_t room = 2 * found->lines_room + 256;
        size_t *grown = PyMem_Realloc(found->lines, room * sizeof(size_t));
        if (!grown)
            return -1;
        found->lines = grown;
        found->lines_room = room;
    }
    if (found->count)
        found->payloads[found->used++] = '\n';
    char *copy = found->payloads + found->used;
    size_t written = is_whole ? 0 : without_place(payload, payload + length, copy);
    if (!written) {
        memcpy(copy, payload, length);
        written = length;
    }
    found->used += written;
    found->lines[found->count++] = line;
    return 0;
}

/* Return 0, or -1 where memory is short; moves `line` to that of the end. */
static int fill(Found *found, const char *at, const char *end, Wanted *wanted, size_t *line)
{
    const char *hit;
    while ((hit = find(at, end, wanted->token, wanted->token_length)) != NULL) {
        const char *payload = hit;
        size_t length = wanted->token_length;
        *line += count_line_feeds(at, hit);
        at = hit + length;
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at < end && *at == '{') {
            const char *stop = next(at, end, '\n');
            payload = at;
            at = stop ? stop : end;
            if (is_left_out(payload, at, wanted)) {
                /* Another rank may have written behind it, without a line end between them. */
                const char *glued = find(payload, at, wanted->token, wanted->token_length);
                at = glued ? glued : at;
                continue;
            }
            length = (size_t)(at - payload);
        }
        length = length < wanted->longest ? length : wanted->longest;
        if (add(found, payload, length, *line, wanted->is_whole) < 0)
            return -1;
    }
    *line += count_line_feeds(at, end);
    return 0;
}

static PyObject *result(const Found *found, size_t next_line)
{
    PyObject *lines = PyList_New((Py_ssize_t)found->count);
    if (!lines)
        return NULL;
    for (size_t i = 0; i < found->count; i++) {
        PyObject *line = PyLong_FromSize_t(found->lines[i]);
        if (!line || PyList_SetItem(lines, (Py_ssize_t)i, line) < 0) {
            Py_DECREF(lines);
            return NULL;
        }
    }
    PyObject *payloads = PyBytes_FromStringAndSize(found->payloads, (Py_ssize_t)found->used);
    return Py_BuildValue("(NNn)", payloads, lines, (Py_ssize_t)next_line);
}

static int add_key(Wanted *wanted, PyObject *key, int keeps_first)
{
    if (!key || !PyBytes_Check(key) || wanted->count == MOST_KEYS) {
        PyErr_SetString(PyExc_TypeError, "keys are bytes, and not more than 64");
        return -1;
    }
    wanted->keys[wanted->count++] =
        (Key){PyBytes_AsString(key), (size_t)PyBytes_Size(key), keeps_first};
    return 0;
}

static PyObject *scan(PyObject *module, PyObject *arguments)
{
    PyObject *block, *token, *keys, *first, *answer = NULL;
    Py_ssize_t line, longest;
    Wanted wanted = {0};
    Found found = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SnSnO!Op", &block, &line, &token, &longest, &PyTuple_Type,
                          &keys, &first, &wanted.is_whole))
        return NULL;
    if (first != Py_None && add_key(&wanted, first, 1) < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_Size(keys); i++)
        if (add_key(&wanted, PyTuple_GetItem(keys, i), 0) < 0)
            return NULL;
    wanted.token = PyBytes_AsString(token);
    wanted.token_length = (size_t)PyBytes_Size(token);
    wanted.longest = (size_t)longest;
    const char *start = PyBytes_AsString(block);
    size_t next_line = (size_t)line;
    if (fill(&found, start, start + PyBytes_Size(block), &wanted, &next_line) < 0)
        PyErr_NoMemory();
    else
        answer = result(&found, next_line);
    PyMem_Free(found.payloads);
    PyMem_Free(found.lines);
    return answer;
}

/* ------------------------------------------------------------------------------------ messages */

/* A field of a protocol-buffer message: a number, or bytes. */
typedef struct {
    uint64_t number, value;
    int kind;
    const unsigned char *data;
    size_t length;
} Field;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* Return 0, or -1 where the number does not end. Bits beyond 64 are lost: `protobuf.py` reads those. */
static int varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        if (*at == end)
            return -1;
        unsigned char byte = *(*at)++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return 0;
    }
    if (*at == end || **at > 1)
        return -1;
    *value |= (uint64_t) * (*at)++ << 63;
    return 0;
}

/* Return 1 and the next field, 0 at the end, -1 where it is not plain. */
static int next_field(const unsigned char **at, const unsigned char *end, Field *field)
{
    uint64_t key, size;
    if (*at == end)
        return 0;
    if (varint(at, end, &key) < 0)
        return -1;
    field->number = key >> 3;
    field->kind = (int)(key & 7);
    if (field->kind == VARINT)
        return varint(at, end, &field->value) < 0 ? -1 : 1;
    if (field->kind == BYTES) {
        if (varint(at, end, &size) < 0)
            return -1;
    } else if (field->kind == FIXED64 || field->kind == FIXED32)
        size = field->kind == FIXED64 ? 8 : 4;
    else
        return -1;
    if (size > (uint64_t)(end - *at))
        return -1;
    field->data = *at;
    field->length = (size_t)size;
    *at += size;
    return 1;
}

/* Return 0 and where the bytes of a message begin and end, else -1 and an error. */
static int ends_of(PyObject *message, const unsigned char **at, const unsigned char **end)
{
    if (!PyBytes_Check(message)) {
        PyErr_SetString(PyExc_TypeError, "a message is bytes");
        return -1;
    }
    *at = (const unsigned char *)PyBytes_AsString(message);
    *end = *at + PyBytes_Size(message);
    return 0;
}

/* Return what was found in a message, or None where it is not plain. */
static PyObject *or_none(PyObject *found, int more)
{
    if (found && more < 0) {
        Py_DECREF(found);
        Py_RETURN_NONE;
    }
    return found;
}

static int append(PyObject *list, PyObject *item)
{
    int failed = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

static PyObject *fields(PyObject *module, PyObject *message)
{
    const unsigned char *at, *end;
    Field field;
    int more = 0;
    (void)module;
    if (ends_of(message, &at, &end) < 0)
        return NULL;
    PyObject *found = PyList_New(0);
    while (found && (more = next_field(&at, end, &field)) > 0) {
        PyObject *pair = field.kind == VARINT
            ? Py_BuildValue("(KK)", (unsigned long long)field.number, (unsigned long long)field.value)
            : Py_BuildValue("(KN)", (unsigned long long)field.number,
                            PyBytes_FromStringAndSize((const char *)field.data,
                                                      (Py_ssize_t)field.length));
        if (append(found, pair) < 0)
            Py_CLEAR(found);
    }
    return or_none(found, more);
}

/* Return 0 and key and content of an item of a W&B row, as new references, else -1. The parts of a
 * nested key, the only form that current versions write, are joined by dots. */
static int of_item(const Field *item, PyObject **key, PyObject **content)
{
    const unsigned char *at = item->data, *end = at + item->length;
    Field field, name = {0}, value = {0};
    char *nested = PyMem_Malloc(item->length + 1); /* a part is shorter than its field by 2 or more */
    size_t used = 0;
    int more = nested ? 1 : -1, parts = 0;
    while (more > 0 && (more = next_field(&at, end, &field)) > 0) {
        if (field.kind != BYTES)
            more = -1;
        else if (field.number == 1)
            name = field;
        else if (field.number == 16)
            value = field;
        else if (field.number == 2) {
            if (parts++)
                nested[used++] = '.';
            memcpy(nested + used, field.data, field.length);
            used += field.length;
        } else
            more = -1;
    }
    int is_plain = more == 0 && value.data && (used || name.data);
    if (is_plain) {
        *key = PyUnicode_DecodeUTF8(used ? nested : (const char *)name.data,
                                    (Py_ssize_t)(used ? used : name.length), "replace");
        *content = PyBytes_FromStringAndSize((const char *)value.data, (Py_ssize_t)value.length);
    }
    PyMem_Free(nested);
    return is_plain ? 0 : -1;
}

static PyObject *items(PyObject *module, PyObject *message)
{
    const unsigned char *at, *end;
    Field field;
    int more = 0;
    (void)module;
    if (ends_of(message, &at, &end) < 0)
        return NULL;
    PyObject *found = PyDict_New();
    while (found && (more = next_field(&at, end, &field)) > 0) {
        PyObject *key = NULL, *content = NULL;
        if (field.number != 1)
            continue;
        if (field.kind != BYTES || of_item(&field, &key, &content) < 0) {
            more = -1;
            break;
        }
        if (!key || !content || PyDict_SetItem(found, key, content) < 0)
            Py_CLEAR(found);
        Py_XDECREF(key);
        Py_XDECREF(content);
    }
    return or_none(found, more);
}

/* ------------------------------------------------------------------------------------ event files */

enum { MOST_VALUES = 64, LARGEST_CHECKED = 64 * 1024 };

/* A value of a tag, as it lies in the bytes that are given for it. */
typedef struct {
    int64_t step;
    double time, value;
    int64_t record;
} Row;

typedef struct {
    const unsigned char *name;
    size_t length;
    double value;
} Value;

static uint32_t crc_table[8][256];

static void fill_table(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t entry = byte;
        for (int bit = 0; bit < 8; bit++)
            entry = entry >> 1 ^ (entry & 1 ? 0x82F63B78u : 0);
        crc_table[0][byte] = entry;
    }
    for (unsigned byte = 0; byte < 256; byte++)
        for (int row = 1; row < 8; row++)
            crc_table[row][byte] =
                crc_table[row - 1][byte] >> 8 ^ crc_table[0][crc_table[row - 1][byte] & 0xFF];
}

static uint32_t four_bytes(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t eight_bytes(const unsigned char *at)
{
    return four_bytes(at) | (uint64_t)four_bytes(at + 4) << 32;
}

/* Return the masked CRC-32C of some bytes, eight at a time. */
static uint32_t checksum(const unsigned char *at, size_t length)
{
    uint32_t state = 0xFFFFFFFFu;
    for (; length >= 8; at += 8, length -= 8) {
        uint32_t low = four_bytes(at) ^ state, high = four_bytes(at + 4);
        state = crc_table[7][low & 0xFF] ^ crc_table[6][low >> 8 & 0xFF] ^
                crc_table[5][low >> 16 & 0xFF] ^ crc_table[4][low >> 24] ^
                crc_table[3][high & 0xFF] ^ crc_table[2][high >> 8 & 0xFF] ^
                crc_table[1][high >> 16 & 0xFF] ^ crc_table[0][high >> 24];
    }
    while (length--)
        state = state >> 8 ^ crc_table[0][(state ^ *at++) & 0xFF];
    state = ~state;
    return (state >> 15 | state << 17) + 0xA282EAD8u;
}

static double or_nan(double number) { return number - number == 0 ? number : (double)NAN; }

static double double_at(const unsigned char *at)
{
    uint64_t bits = eight_bytes(at);
    double number;
    memcpy(&number, &bits, sizeof number);
    return or_nan(number);
}

static double single_at(const unsigned char *at)
{
    uint32_t bits = four_bytes(at);
    float number;
    memcpy(&number, &bits, sizeof number);
    return or_nan(number);
}

/* Return 0 and the number of a tensor that is one float of four bytes, else -1. */
static int of_tensor(const Field *tensor, double *value)
{
    const unsigned char *at = tensor->data, *end = at + tensor->length, *data = NULL;
    Field field;
    uint64_t kind = 0;
    int more = 0;
    while ((more = next_field(&at, end, &field)) > 0) {
        if (field.number == 1 && field.kind == VARINT)
            kind = field.value;
        else if (field.number == 2 && field.kind == BYTES && !field.length)
            continue;
        else if ((field.number == 4 || field.number == 5) && !data && field.kind != VARINT &&
                 field.length == 4)
            data = field.data;
        else
            return -1;
    }
    if (more < 0 || kind != 1 || !data)
        return -1;
    *value = single_at(data);
    return 0;
}

/* Return 1 and what a value says, 0 where it is no scalar, -1 where it is not plain. */
static int of_value(const Field *message, Value *found)
{
    const unsigned char *at = message->data, *end = at + message->length;
    Field field;
    int more, is_scalar = 0;
    found->length = 0;
    while ((more = next_field(&at, end, &field)) > 0) {
        if (field.number == 1 && field.kind == BYTES) {
            found->name = field.data;
            found->length = field.length;
        } else if (field.number == 2 && field.kind == FIXED32) {
            found->value = single_at(field.data);
            is_scalar = 1;
        } else if (field.number == 8 && field.kind == BYTES) {
            if (of_tensor(&field, &found->value) < 0)
                return -1;
            is_scalar = 1;
        } else if (field.number == 1 || field.number == 2 || field.number == 8)
            return -1;
    }
    return more < 0 ? -1 : is_scalar;
}

/* Return how many values an event has, -1 where it is not plain. */
static int of_event(const unsigned char *at, const unsigned char *end, Row *row, Value *values)
{
    Field field, inner;
    int more, count = 0;
    row->step = 0;
    row->time = (double)NAN;
    while ((more = next_field(&at, end, &field)) > 0) {
        if (field.number == 1 && field.kind == FIXED64)
            row->time = double_at(field.data);
        else if (field.number == 2 && field.kind == VARINT)
            row->step = (int64_t)field.value;
        else if (field.number == 5 && field.kind == BYTES) {
            const unsigned char *place = field.data, *stop = place + field.length;
            while ((more = next_field(&place, stop, &inner)) > 0) {
                if (inner.number != 1)
                    continue;
                if (inner.kind != BYTES || count == MOST_VALUES)
                    return -1;
                int is_scalar = of_value(&inner, &values[count]);
                if (is_scalar < 0)
                    return -1;
                count += is_scalar;
            }
            if (more < 0)
                return -1;
        } else if (field.number == 1 || field.number == 2 || field.number == 5)
            return -1;
    }
    return more < 0 ? -1 : count;
}

/* Adds a row to the bytes of a tag; gives 0, or -1 where memory is short. */
static int add_row(PyObject *rows, const Value *value, const Row *row)
{
    PyObject *tag = PyBytes_FromStringAndSize((const char *)value->name, (Py_ssize_t)value->length);
    if (!tag)
        return -1;
    PyObject *column = PyDict_GetItemWithError(rows, tag);
    if (column)
        Py_INCREF(column);
    else if (PyErr_Occurred() || !(column = PyByteArray_FromStringAndSize(NULL, 0)) ||
             PyDict_SetItem(rows, tag, column) < 0) {
        Py_XDECREF(column);
        Py_DECREF(tag);
        return -1;
    }
    Py_DECREF(tag);
    Py_ssize_t size = PyByteArray_Size(column);
    int failed = PyByteArray_Resize(column, size + (Py_ssize_t)sizeof *row);
    if (!failed) {
        char *end = PyByteArray_AsString(column) + size;
        memcpy(end, row, sizeof *row);
        memcpy(end + offsetof(Row, value), &value->value, sizeof(double));
    }
    Py_DECREF(column);
    return failed;
}

static PyObject *scalars(PyObject *module, PyObject *arguments)
{
    PyObject *block, *rows, *others, *damaged;
    long long record;
    double first = (double)NAN, last = (double)NAN;
    Value values[MOST_VALUES];
    int is_lost = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SLO!O!O!", &block, &record, &PyDict_Type, &rows, &PyList_Type,
                          &others, &PyList_Type, &damaged))
        return NULL;
    const unsigned char *start = (const unsigned char *)PyBytes_AsString(block), *at = start;
    const unsigned char *end = at + PyBytes_Size(block);
    while (end - at >= 12) {
        uint64_t size = eight_bytes(at);
        if (checksum(at, 8) != four_bytes(at + 8)) {
            if (append(damaged, PyLong_FromSsize_t(at - start)) < 0)
                return NULL;
            is_lost = 1;
            break;
        }
        if ((uint64_t)(end - at) < 16 || size > (uint64_t)(end - at) - 16)
            break;
        const unsigned char *data = at + 12, *stop = data + size;
        const char *text = (const char *)data, *text_end = (const char *)stop;
        int is_small = size <= LARGEST_CHECKED;
        if (is_small && checksum(data, (size_t)size) != four_bytes(stop)) {
            if (append(damaged, PyLong_FromSsize_t(at - start)) < 0)
                return NULL;
        } else {
            Row row;
            row.record = record;
            int count = -1;
            if (is_small && !find(text, text_end, "\n\x04text", 6) &&
                !find(text, text_end, "_hparams_/session_start_info", 28))
                count = of_event(data, stop, &row, values);
            if (count < 0) {
                PyObject *other = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
                if (append(others, Py_BuildValue("(LN)", record, other)) < 0)
                    return NULL;
            } else if (row.time > 0) {
                first = first <= row.time ? first : row.time;
                last = last >= row.time ? last : row.time;
            }
            for (int i = 0; i < count; i++)
                if (add_row(rows, &values[i], &row) < 0)
                    return NULL;
        }
        record++;
        at = stop + 4;
    }
    return Py_BuildValue("(nLddi)", (Py_ssize_t)(at - start), record, first, last, is_lost);
}

static PyMethodDef methods[] = {
    {"fields", fields, METH_O, "fields(message) -> [(number, value)], None where it is not plain"},
    {"items", items, METH_O, "items(message) -> {key: content}, None where it is not plain"},
    {"scalars", scalars, METH_VARARGS,
     "scalars(block, record, rows, others, damaged) -> (end, record, first, last, is_lost)"},
    {"scan", scan, METH_VARARGS,
     "scan(block, line, token, longest, keys, first, is_whole) -> (payloads, lines, next_line)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void)
{
    fill_table();
    return PyModuleDef_Init(&module);
}
