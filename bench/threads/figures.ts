/** One subject's figures in a round, and how rounds become rows and floors: against one thread in
 *  the same round, medians over the rounds. */

import { type BenchTable, type Floor, median } from '../bench.ts'
import type { Usage } from './usage.ts'

export interface Figure {
  /** Answers, or megabytes. */
  readonly amount: number
  readonly seconds: number
  readonly usage: Usage
}

/** A figure of each subject in each round. */
export type Rounds = readonly (readonly Figure[])[]

/** At most so much more processor time for an answer with each thread. */
const growthMax = 0.15

function rateOf({ amount, seconds }: Figure): number {
  return amount / seconds
}

/** Milliseconds of the processor for one. */
function cpuMs({ amount, usage }: Figure, part: keyof Usage): number {
  return (usage[part] * 1000) / Math.max(1, amount)
}

/** The median over the rounds of a figure against that of one thread, or of another subject. */
function against(rounds: Rounds, at: number, of: (figure: Figure) => number, base = 0): number {
  return median(rounds.map(figures => of(figures[at]!) / Math.max(1e-9, of(figures[base]!))))
}

export interface Measured {
  readonly name: string
  /** Name of the things that are counted, of which there is one `unit`. */
  readonly counted: string
  readonly unit: string
  /** Number of threads of each subject. A figure more in each round is that of the control: two
   *  programs side by side. */
  readonly counts: readonly number[]
  readonly rounds: Rounds
}

export function tableOf({ name, counted, unit, counts, rounds }: Measured): BenchTable {
  const middle = (at: number, of: (figure: Figure) => number): number =>
    median(rounds.map(figures => of(figures[at]!)))
  const ms = (at: number, part: keyof Usage): string =>
    middle(at, figure => cpuMs(figure, part)).toFixed(3)
  const processors = ({ usage, seconds }: Figure): number => (usage.all + usage.clients) / seconds
  return {
    title: name,
    columns: [
      'threads',
      `${counted}/s`,
      'of one',
      `processor ms/${unit}`,
      'of one',
      'main thread',
      'face threads',
      "V8's own",
      'clients',
      'processors busy',
    ],
    rows: [...counts, '2 programs']
      .slice(0, rounds[0]?.length)
      .map((subject, at) => [
        subject,
        middle(at, rateOf).toFixed(0),
        against(rounds, at, rateOf).toFixed(2),
        ms(at, 'all'),
        against(rounds, at, figure => cpuMs(figure, 'all')).toFixed(2),
        ms(at, 'main'),
        ms(at, 'faces'),
        ms(at, 'rest'),
        ms(at, 'clients'),
        middle(at, processors).toFixed(2),
      ]),
  }
}

/** The bound of the growth of processor time; and the rate of two threads over one's, if that is
 *  asked for. What two threads take is also compared with the control, which says how much of it is
 *  the machine's. */
export function floorsOf({ name, counts, rounds }: Measured, factorMin?: number): Floor[] {
  const ofCpu = (figure: Figure): number => cpuMs(figure, 'all')
  const floors: Floor[] = counts.slice(1).map((threads, i) => ({
    name: `processor for ${name} with ${threads} threads, of one`,
    value: against(rounds, i + 1, ofCpu),
    bound: 'at most',
    limit: (1 + growthMax) ** (threads - 1),
    unit: '',
  }))
  const two = counts.indexOf(2)
  if (two < 0) return floors
  if ((rounds[0]?.length ?? 0) > counts.length) {
    floors.push({
      name: `processor for ${name} with two threads, of two programs side by side`,
      value: against(rounds, two, ofCpu, counts.length),
      bound: 'at most',
      limit: 1 + growthMax,
      unit: '',
    })
  }
  if (factorMin === undefined) return floors
  return [
    ...floors,
    {
      name: `${name} with two threads, of one`,
      value: against(rounds, two, rateOf),
      bound: 'at least',
      limit: factorMin,
      unit: '',
    },
  ]
}
