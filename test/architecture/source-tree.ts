/** What the architecture tests know of the tree: its files, their code without comments, and what each imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';

export const ROOT = resolve(__dirname, '../..');

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', '.signalbox', 'coverage']);

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Every file below the folder, as paths from the root; `''` lists the whole tree. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return [];
    const path = posix.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const CODE = /\.(ts|tsx|js)$/;
const CODE_FOLDERS = ['src', 'workflows', 'activities', 'worker', 'scripts', 'test', 'console', 'deploy'];

/** Every source file of the project. */
export const codeFiles = (): string[] =>
  filesBelow('').filter((path) => CODE.test(path) && CODE_FOLDERS.includes(path.split('/', 1)[0] ?? ''));

/** Strings are matched too, so that what looks like a comment inside one is left alone. */
const STRING_OR_COMMENT =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|(?<![:\\])\/\/[^\n]*/g;

/** The lines of a file with comments blanked out, so that line numbers stay true. */
export const codeLines = (path: string): string[] =>
  read(path)
    .replace(STRING_OR_COMMENT, (found) => (found.startsWith('/') ? found.replace(/[^\n]/g, '') : found))
    .split('\n');

export interface Import {
  /** A path from the root without extension for files of ours, else the package's name with its subpath. */
  target: string;
  isOurs: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s)?([^'"`;]*?)\s*from\s+'([^']+)'/gm;
const SIDE_EFFECT = /^import\s+'([^']+)'/gm;
const CALL = /(?<!typeof )\b(?:import|require)\('([^']+)'\)/g;

/** `{ type A, type B }` is left out by the compiler like `import type`. */
const isErased = (names: string): boolean => {
  const inside = /^\{([^}]*)\}$/.exec(names.trim())?.[1];
  return inside !== undefined && inside.split(',').every((name) => /^\s*(type\s|$)/.test(name));
};

function targetOf(path: string, specifier: string): Import {
  if (!specifier.startsWith('.')) return { target: specifier, isOurs: false };
  return { target: posix.join(posix.dirname(path), specifier), isOurs: true };
}

/** What a file imports at run time; type-only imports cost nothing and are free. */
export function importsOf(path: string): Import[] {
  const code = codeLines(path).join('\n');
  const statements = [...code.matchAll(STATEMENT)].filter(([, type, names]) => !type && !isErased(names ?? ''));
  const specifiers = [
    ...statements.map((match) => match[3]),
    ...[...code.matchAll(SIDE_EFFECT), ...code.matchAll(CALL)].map((match) => match[1]),
  ];
  return specifiers.filter((specifier) => specifier !== undefined).map((specifier) => targetOf(path, specifier));
}
