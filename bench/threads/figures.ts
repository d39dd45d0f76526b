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

/** At most so much more processor time for an answer with each thread, beyond what a bare server
 *  takes more with its second one: that much is the machine's. */
const growthMax = 0.1

/** The rate of two threads over one's that is asked for. */
export interface WantedGain {
  readonly factorMin: number
  /** The part of a bare server's gain beyond which nothing is asked for, where an answer costs it
   *  as much as ours: the machine has no more to give. */
  readonly ofBareMax?: number
}

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

/** A subject beside those of ours that says what the machine can do, and which figure of a round it
 *  is compared with. */
export interface Control {
  readonly name: string
  readonly base: number
}

export interface Measured {
  readonly name: string
  /** Name of the things that are counted, of which there is one `unit`. */
  readonly counted: string
  readonly unit: string
  /** Number of threads of each subject. The figures of the controls follow in each round. */
  readonly counts: readonly number[]
  readonly controls: readonly Control[]
  readonly rounds: Rounds
}

/** Two programs of one thread each, side by side. */
export const twoPrograms = '2 programs'
/** A bare server with one thread, and with two. */
export const bareNames = ['bare server, 1 thread', 'bare server, 2 threads'] as const

/** The controls that a bench has beside so many subjects of ours, in their order. */
export function controlsOf(names: readonly string[], subjects: number): Control[] {
  const bare = subjects + names.indexOf(bareNames[0])
  return names.map(name => ({ name, base: name === twoPrograms ? 0 : bare }))
}

export function tableOf({ name, counted, unit, counts, controls, rounds }: Measured): BenchTable {
  const middle = (at: number, of: (figure: Figure) => number): number =>
    median(rounds.map(figures => of(figures[at]!)))
  const ms = (at: number, part: keyof Usage): string =>
    middle(at, figure => cpuMs(figure, part)).toFixed(3)
  const processors = ({ usage, seconds }: Figure): number => (usage.all + usage.clients) / seconds
  const ours = counts.map(threads => ({ name: threads, base: 0 }))
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
    rows: [...ours, ...controls].map((subject, at) => [
      subject.name,
      middle(at, rateOf).toFixed(0),
      against(rounds, at, rateOf, subject.base).toFixed(2),
      ms(at, 'all'),
      against(rounds, at, figure => cpuMs(figure, 'all'), subject.base).toFixed(2),
      ms(at, 'main'),
      ms(at, 'faces'),
      ms(at, 'rest'),
      ms(at, 'clients'),
      middle(at, processors).toFixed(2),
    ]),
  }
}

/** The bound of the growth of processor time; and the rate of two threads over one's, if that is
 *  asked for. A bare server with one thread and two, in the same rounds, says how much of both is
 *  the machine's: it is beside each floor, and the limit follows it. What two threads take is also
 *  compared with two programs. */
export function floorsOf(measured: Measured, wanted?: WantedGain): Floor[] {
  const { name, counts, controls, rounds } = measured
  const ofCpu = (figure: Figure): number => cpuMs(figure, 'all')
  const ofBareCpu = bareGrowth(measured, ofCpu)
  const ofBareRate = bareGrowth(measured, rateOf)
  const floors: Floor[] = counts.slice(1).map((threads, i) => ({
    name: `processor for ${name} with ${threads} threads, of one`,
    value: against(rounds, i + 1, ofCpu),
    bound: 'at most',
    limit: Math.max(1, ofBareCpu ?? 1) * (1 + growthMax) ** (threads - 1),
    unit: threads === 2 ? inWords(ofBareCpu) : '',
  }))
  const two = counts.indexOf(2)
  if (two < 0) return floors
  const side = controls.findIndex(control => control.name === twoPrograms)
  if (side >= 0) {
    floors.push({
      name: `processor for ${name} with two threads, of two programs side by side`,
      value: against(rounds, two, ofCpu, counts.length + side),
      bound: 'at most',
      limit: 1 + growthMax,
      unit: '',
    })
  }
  if (wanted === undefined) return floors
  const { factorMin, ofBareMax = Infinity } = wanted
  return [
    ...floors,
    {
      name: `${name} with two threads, of one`,
      value: against(rounds, two, rateOf),
      bound: 'at least',
      limit: Math.min(factorMin, ofBareMax * (ofBareRate ?? Infinity)),
      unit: inWords(ofBareRate),
    },
  ]
}

/** The growth of a figure of the bare server from one thread to two; undefined where there is no
 *  such server. */
function bareGrowth(
  { counts, controls, rounds }: Measured,
  of: (figure: Figure) => number,
): number | undefined {
  const at = controls.findIndex(({ name }) => name === bareNames[1])
  return at < 0 ? undefined : against(rounds, counts.length + at, of, controls[at]!.base)
}

function inWords(growth: number | undefined): string {
  return growth === undefined ? '' : `(a bare server: ${growth.toFixed(2)})`
}
