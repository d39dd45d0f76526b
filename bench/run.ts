/** `npm run bench -- NAME [WORD...] [--check] [--small] [--json [FILE]]`: runs one benchmark, or
 *  what of it has one of the words in its name, and prints its tables. `all` runs every one, each
 *  in a process of its own. `--against URL --pid PID` has the benches `http` and `resume` measure
 *  another server, too. `--json` without a file writes bench/results/NAME.json.
 *
 *  With `--check` the last line says how many floors are met, and the exit code is 1 if one is
 *  missed. */

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { ToolOptions } from '../test/support/runner/tool-options.ts'
import { type BenchOptions, type BenchResult, type BenchTable, isMet } from './bench.ts'
import { benches } from './benches.ts'

const list = benches.map(({ name, summary }) => `\n  ${name.padEnd(10)} ${summary}`).join('')
const tool = new ToolOptions(
  `npm run bench -- NAME [WORD...] [--check] [--small] [--json [FILE]] [--against URL [--pid PID]]
  all        every one of these${list}`,
)
const given = process.argv.slice(2)
const { values, positionals } = tool.read({
  // An option that ends the line has no value.
  args: given.at(-1) === '--json' ? [...given, ''] : given,
  allowPositionals: true,
  options: {
    check: { type: 'boolean' },
    small: { type: 'boolean' },
    json: { type: 'string' },
    against: { type: 'string' },
    pid: { type: 'string' },
  },
})
const [benchName, ...only] = positionals
if (benchName === 'all') process.exit(runAll())
const bench = benches.find(({ name }) => name === benchName) ?? unknownBench()
const size = values.small === true ? 'small' : 'full'
const result = await bench.run({
  size,
  progress: showProgress,
  only,
  against: against(),
})
showProgress('')
const met = result.floors.filter(isMet).length
const machine = {
  cpu: cpus()[0]?.model ?? '',
  cores: cpus().length,
  memoryBytes: totalmem(),
  node: process.version,
}
const measuredOn = new Date().toISOString().slice(0, 10)
process.stdout.write(report(result))
if (values.json !== undefined) {
  const file = values.json === '' ? `bench/results/${bench.name}.json` : values.json
  const saved = { bench: bench.name, size, commit: commit(), measuredOn, machine, ...result }
  writeFileSync(file, `${JSON.stringify(saved, undefined, 2)}\n`)
}
if (values.check === true) {
  process.stdout.write(`${bench.name}: ${met} of ${result.floors.length} floors met\n`)
  process.exitCode = met === result.floors.length ? 0 : 1
}

/** Runs each bench as a command of its own, so that none measures what another one has left;
 *  answers the exit code. */
function runAll(): number {
  if (only.length > 0) tool.refuse(`all takes no words, such as "${only.join(' ')}"`)
  if (values.json !== undefined && values.json !== '') tool.refuse('all names its files itself')
  const options = given.filter(word => word.startsWith('--'))
  const failed = benches.filter(({ name }) => {
    process.stdout.write(`\n# ${name}\n`)
    // --json has to be the last one.
    const last = options.filter(word => word !== '--json')
    const args = [name, ...last, ...(values.json === undefined ? [] : ['--json'])]
    const command = [...process.execArgv, process.argv[1] ?? '', ...args]
    return spawnSync(process.execPath, command, { stdio: 'inherit' }).status !== 0
  })
  for (const { name } of failed) process.stdout.write(`# ${name} has failed, or missed a floor\n`)
  return failed.length > 0 ? 1 : 0
}

/** The commit that was measured, and whether code was changed since. */
function commit(): string {
  const git = (...args: string[]): string => spawnSync('git', args, { encoding: 'utf8' }).stdout
  const changed = git('status', '--porcelain', '--', 'lib', 'bench', ':!bench/results')
  return `${git('rev-parse', '--short=8', 'HEAD').trim()}${changed === '' ? '' : ', changed'}`
}

function against(): BenchOptions['against'] {
  const { against: url, pid } = values
  if (url === undefined) return undefined
  if (pid !== undefined && !/^\d+$/.test(pid)) tool.refuse(`--pid "${pid}" is not a process`)
  return { url, pid: pid === undefined ? undefined : Number(pid) }
}

function unknownBench(): never {
  return tool.refuse(
    benchName === undefined ? 'name a benchmark' : `no benchmark is called ${benchName}`,
  )
}

function report(result: BenchResult): string {
  const floors: BenchTable = {
    title: 'Floors',
    columns: ['floor', 'figure', '', 'limit', 'unit', ''],
    rows: result.floors.map(floor => [
      floor.name,
      floor.value,
      floor.bound,
      floor.limit,
      floor.unit,
      isMet(floor) ? 'met' : 'MISSED',
    ]),
  }
  return `${[...result.tables, floors].map(tableText).join('\n')}\nresult ${result.resultHash}\n`
}

function tableText({ title, columns, rows }: BenchTable): string {
  const cells = [columns, ...rows].map(row => row.map(cellText))
  const widths = columns.map((_, i) => Math.max(...cells.map(row => row[i]?.length ?? 0)))
  const lines = cells.map(row =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  '),
  )
  return [title, ...lines.map(line => `  ${line}`.trimEnd()), ''].join('\n')
}

function cellText(cell: string | number): string {
  if (typeof cell === 'string') return cell
  if (Number.isInteger(cell)) return cell.toLocaleString('en-US')
  return cell.toLocaleString('en-US', { maximumFractionDigits: Math.abs(cell) < 10 ? 3 : 1 })
}

/** The seconds since the start are beside it, so that whoever waits sees what takes how long. */
function showProgress(message: string): void {
  if (!process.stderr.isTTY) return
  const seconds = message === '' ? '' : `${Math.round(process.uptime())} s: `
  process.stderr.write(`\r\u001b[K${seconds}${message}`)
}
