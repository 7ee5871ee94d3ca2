/** The table for people and the file for comparison. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './child';
import { load, machineFacts } from './cpu';
import { hasPassed, ratioOf, rounded, type Figure } from './figures';

const PACKAGES = ['@temporalio/worker', 'mongoose', 'express', 'typescript'];
/** Above this something else was using the machine, and figures are only good for comparing their two sides. */
export const QUIET_LOAD = 1.5;

const TENTHS_FROM = 10;

const shown = (value: number | null, { unit }: Figure): string =>
  value === null ? '–' : `${value.toFixed(unit === 'ms' && value < TENTHS_FROM ? 2 : 1)} ${unit}`;

const floorText = ({ floor, unit }: Figure): string => {
  if (!floor) return '–';
  const sign = floor.bound === 'at most' ? '≤' : '≥';
  return floor.of === 'ratio' ? `${sign} ${floor.value.toFixed(2)} ×` : `${sign} ${floor.value} ${unit}`;
};

const verdict = (figure: Figure): string => ({ true: 'pass', false: 'FAIL', null: '–' })[`${hasPassed(figure)}`];

function rowOf(figure: Figure): string[] {
  const ratio = ratioOf(figure);
  return [
    figure.budget,
    figure.name,
    shown(figure.ours, figure),
    shown(figure.bare, figure),
    ratio === null ? '–' : `${ratio.toFixed(2)} ×`,
    floorText(figure),
    verdict(figure),
    figure.cpu ? `${figure.cpu.ours.toFixed(1)} / ${figure.cpu.bare.toFixed(1)} ms` : '–',
  ];
}

const HEAD = ['', 'what', 'ours', 'bare', 'ratio', 'floor', '', 'CPU per execution'];

/** The figures as aligned text. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD, ...figures.map(rowOf)];
  const widths = HEAD.map((_title, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const versionOf = (name: string): string => {
  const text = readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

export interface Run {
  startedAt: Date;
  runs: number;
  rows: number;
  loadAtStart: number;
  sources: Record<string, string>;
  figures: readonly Figure[];
}

const factsOf = (figure: Figure): Record<string, unknown> => ({
  ...figure,
  ours: rounded(figure.ours),
  bare: figure.bare === null ? null : rounded(figure.bare),
  ...(figure.ratios ? { ratios: figure.ratios.map(rounded) } : {}),
  ratio: ratioOf(figure) === null ? null : rounded(ratioOf(figure) ?? 0),
  passed: hasPassed(figure),
});

/** Writes everything that was measured; answers the path. */
export function writeRun(run: Run, isWritten: boolean): string {
  const folder = join(ROOT, isWritten ? 'docs/benchmarks' : '.signalbox/bench');
  const path = join(folder, `${run.startedAt.toISOString().slice(0, 10)}.json`);
  mkdirSync(folder, { recursive: true });
  const content = {
    started_at: run.startedAt.toISOString(),
    runs: run.runs,
    rows: run.rows,
    machine: machineFacts(),
    load: { at_start: rounded(run.loadAtStart), at_end: rounded(load()), quiet: run.loadAtStart < QUIET_LOAD },
    versions: {
      node: process.versions.node,
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
      ...run.sources,
    },
    figures: run.figures.map(factsOf),
  };
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`);
  return path;
}
