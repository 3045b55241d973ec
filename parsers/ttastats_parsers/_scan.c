/* Finds the lines that matter in a block of an MLPerf log; `mlperf_scan.py` says which they are.
 *
 * It is here for speed only: `mlperf_scan.py` does the same in Python, and the tests hold the two
 * against each other. It keeps to the stable ABI, so one build serves every Python from 3.11 on: also
 * one made with Python 3.13, whose headers turn formats with `#` into calls that 3.11 refuses. */

#include <Python.h>
#include <string.h>

/* What is found, while it grows. */
typedef struct {
    char *payloads;
    size_t used, room;
    size_t *lines;
    size_t count, lines_room;
} Found;

/* Gives the next place of a word, or NULL. It looks for the last letter first, as the tokens end
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
} Wanted;

static const char *after(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

/* Gives the place behind `word`, then anything but the end, then the end. */
static const char *beyond(const char *at, const char *end, const char *word, char stop)
{
    return at && (at = after(at, end, word)) ? memchr(at, stop, (size_t)(end - at)) : NULL;
}

/* Tells whether a payload is in the logger's own field order and has a key to leave out. */
static int is_left_out(const char *at, const char *end, Wanted *wanted)
{
    at = beyond(at, end, "{\"namespace\": \"", '"');
    at = beyond(at, end, "\", \"time_ms\": ", ',');
    at = beyond(at, end, ", \"event_type\": \"", '"');
    if (!at || !(at = after(at, end, "\", \"key\": \"")))
        return 0;
    const char *stop = memchr(at, '"', (size_t)(end - at));
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

/* Gives 0, or -1 where memory is short. */
static int add(Found *found, const char *payload, size_t length, size_t line)
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
    memcpy(found->payloads + found->used, payload, length);
    found->used += length;
    found->lines[found->count++] = line;
    return 0;
}

/* Gives 0, or -1 where memory is short; moves `line` to that of the end. */
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
            const char *stop = memchr(at, '\n', (size_t)(end - at));
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
        if (add(found, payload, length < wanted->longest ? length : wanted->longest, *line) < 0)
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
    if (!PyArg_ParseTuple(arguments, "SnSnO!O", &block, &line, &token, &longest, &PyTuple_Type,
                          &keys, &first))
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

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS,
     "scan(block, line, token, longest, keys, first) -> (payloads, lines, next_line)"},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&module); }
