/**
 * How Node runs the api and the worker, in the image as here. Work on a request or a step allocates a few megabytes that
 * are garbage soon after, and V8 begins with 1 MB for what is young: it collects all the time and keeps what would have
 * been dead a moment later. An execution under way lives for a second or two, so with fifty of them even 32 MB let much
 * of it grow old, and V8 goes through everything whenever what is old has grown by some 15 MB. With 32 to 64 MB for the
 * young, and room for the old to grow to two and a half times what is alive, both take a fifth less CPU under load than
 * by V8's own choice, and up to 250 MB more memory.
 * V8 also throws away the code of functions that a process has not called for a while: whoever comes after a quiet
 * minute would wait until it is compiled again.
 */
export const NODE_FLAGS = [
  '--min-semi-space-size=32',
  '--max-semi-space-size=64',
  '--heap-growing-percent=150',
  '--no-flush-bytecode',
] as const;
