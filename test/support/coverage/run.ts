/** `npm run coverage`: runs the tests, counts which lines of lib/ they reach in whatever process,
 *  and fails where a room has fewer than its floor. `npm run coverage -- FILE...` runs these files
 *  only, and shows their share of each file instead; `-- --quick` those that start no other
 *  process, which takes minutes less and reaches less. The table of the last run of either is kept
 *  in test/coverage.json.
 *
 *  V8 writes what each process has run when it ends; a program that is killed has said nothing. So
 *  the figures are a little too low, never too high. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { Report } from 'c8'
import { CoverageDumps } from './dumps.ts'
import { floorOf } from './floors.ts'

/** The lines of a room, or of a file. */
interface Lines {
  covered: number
  total: number
}

const given = process.argv.slice(2)
const isQuick = given.includes('--quick')
const files = given.filter(word => word !== '--quick')
const folder = '.cache/coverage'
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
// Programs load their modules one by one: of a bundle V8 knows no files.
writeFileSync('dist/program/cli.js', "import '../lib/cli.js'\n")
const tests = spawn(process.execPath, ['--enable-source-maps', 'dist/test/run.js', ...given], {
  stdio: 'inherit',
  env: { ...process.env, NODE_V8_COVERAGE: folder },
})
const dumps = new CoverageDumps(folder, url => url.includes('/dist/lib/'))
const looks = setInterval(() => dumps.take(false), 5_000)
const [status] = (await once(tests, 'close')) as [number | null]
clearInterval(looks)
spawnSync(process.execPath, ['deploy/bundle.mjs'], { stdio: 'inherit' })
dumps.take(true)
dumps.write()
process.stdout.write(`# ${dumps.count} processes have said what they have run\n`)
const byFile = await linesByFile()
if (files.length > 0) showFiles()
else showRooms()
if (status !== 0) {
  process.stdout.write('# tests have failed: the figures say little\n')
  process.exitCode = 1
}

async function linesByFile(): Promise<Map<string, Lines>> {
  const options = {
    tempDirectory: folder,
    reportsDirectory: `${folder}/report`,
    reporter: ['json-summary'],
    include: ['dist/lib/**'],
    exclude: [],
    extension: ['.js'],
    // Files that no test loads count, too.
    all: true,
    src: ['dist/lib'],
    omitRelative: true,
  }
  await new Report(options).run()
  const text = readFileSync(`${folder}/report/coverage-summary.json`, 'utf8')
  const summary = JSON.parse(text) as Record<string, { lines: Lines }>
  const found = new Map<string, Lines>()
  for (const [path, { lines }] of Object.entries(summary)) {
    const file = relative(process.cwd(), path)
    if (file.startsWith('lib/') && file.endsWith('.ts') && hasCode(file)) found.set(file, lines)
  }
  return found
}

/** False for a module of types: nothing of it is built, so no test can run it. */
function hasCode(file: string): boolean {
  const built = readFileSync(`dist/${file.slice(0, -3)}.js`, 'utf8')
  return built.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '').trim() !== 'export {};'
}

function showFiles(): void {
  for (const [file, lines] of [...byFile].toSorted(byName)) {
    if (lines.covered > 0) process.stdout.write(`${share(lines).padStart(6)} ${file}\n`)
  }
}

function showRooms(): void {
  const rooms = new Map<string, Lines>()
  for (const [file, { covered, total }] of byFile) {
    const [, room = ''] = file.replace(/\.ts$/, '').split('/')
    const lines = rooms.get(room) ?? { covered: 0, total: 0 }
    rooms.set(room, { covered: lines.covered + covered, total: lines.total + total })
  }
  const table = [...rooms].toSorted(byName).map(([room, lines]) => {
    const percent = Math.round((1000 * lines.covered) / lines.total) / 10
    return { room, lines: lines.total, percent, floor: floorOf(room) }
  })
  for (const { room, lines, percent, floor } of table) {
    const isLow = percent < floor
    if (isLow) process.exitCode = 1
    const row = [room.padEnd(10), String(lines).padStart(6), `${percent.toFixed(1)} %`.padStart(8)]
    process.stdout.write(`${row.join(' ')}  floor ${floor} %${isLow ? ': too low' : ''}\n`)
  }
  const lowest = [...byFile]
    .filter(([, { total }]) => total >= 30)
    .toSorted(([, a], [, b]) => a.covered / a.total - b.covered / b.total)
    .slice(0, 20)
  process.stdout.write('# the files that tests reach least\n')
  for (const [file, lines] of lowest) process.stdout.write(`${share(lines).padStart(6)} ${file}\n`)
  const result = { commit: commit(), tests: isQuick ? 'quick' : 'all', rooms: table }
  writeFileSync('test/coverage.json', `${JSON.stringify(result, null, 2)}\n`)
}

function share({ covered, total }: Lines): string {
  return `${((100 * covered) / total).toFixed(1)} %`
}

function commit(): string {
  const { stdout } = spawnSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' })
  return stdout.trim()
}

function byName([one]: readonly [string, Lines], [other]: readonly [string, Lines]): number {
  return one < other ? -1 : 1
}
