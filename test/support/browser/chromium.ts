/** A real browser: Chromium without a window. It comes from CHROMIUM_BIN, else from PATH, else out
 *  of Debian's package chromium-headless-shell with all that it depends on, fetched into the cache
 *  folder. It is driven by the DevTools protocol over two pipes, so that it opens no port. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { unpackedWithDependencies } from '../etcd/debian-packages.ts'
import { find, type Program } from '../etcd/real-etcd.ts'
import { patient } from '../patience.ts'

const packageName = 'chromium-headless-shell'

export async function findChromium(): Promise<Program> {
  return find({
    name: packageName,
    variable: 'CHROMIUM_BIN',
    from: { name: packageName, release: 'bookworm' },
    unpack: unpackedChromium,
    versionArguments: ['--version'],
    accepts: () => true,
  })
}

/** A script that starts the unpacked program with the libraries beside it. */
async function unpackedChromium(): Promise<string> {
  const folder = await unpackedWithDependencies(packageName)
  const script = join(folder, 'start')
  const libraries = ['usr/lib', 'lib', 'usr/lib/x86_64-linux-gnu/pulseaudio']
    .map(name => (name.includes('/x86') ? name : `${name}/$(uname -m)-linux-gnu`))
    .map(name => `${folder}/${name.replace('x86_64', '$(uname -m)')}`)
  const lines = [
    '#!/bin/sh',
    `export LD_LIBRARY_PATH="${libraries.join(':')}" FONTCONFIG_SYSROOT="${folder}"`,
    `exec "${folder}/usr/lib/chromium/${packageName}" "$@"`,
  ]
  await writeFile(script, `${lines.join('\n')}\n`)
  await chmod(script, 0o755)
  return script
}

type Json = Readonly<Record<string, unknown>>

interface Waiting {
  readonly resolve: (result: Json) => void
  readonly reject: (error: Error) => void
}

/** The look of a page. */
export interface Look {
  readonly width: number
  readonly height: number
  readonly scheme?: 'light' | 'dark' | undefined
  readonly isScriptOff?: boolean | undefined
}

export class Browser {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #pages = new Map<string, Page>()
  #lastId = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    let rest = ''
    const [, , , , answers] = child.stdio
    ;(answers as Readable).setEncoding('utf8').on('data', (text: string) => {
      const messages = `${rest}${text}`.split('\0')
      rest = messages.pop() ?? ''
      for (const message of messages) this.#received(JSON.parse(message) as Json)
    })
  }

  /** Starts it; it ends with the test. */
  static async start(t: Pick<Test, 'teardown'>, { binary }: Program): Promise<Browser> {
    const folder = await mkdtemp(join(tmpdir(), 'browser-'))
    const child = spawn(
      binary,
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--hide-scrollbars',
        '--remote-debugging-pipe',
        `--user-data-dir=${folder}`,
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    )
    const exited = once(child, 'exit')
    t.teardown(async () => {
      child.kill()
      await exited
      await rm(folder, { recursive: true, force: true })
    })
    return new Browser(child)
  }

  /** Opens a page. */
  async open(url: string, look: Look): Promise<Page> {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' })
    const attached = await this.call('Target.attachToTarget', { targetId, flatten: true })
    const page = new Page(this, String(attached['sessionId']))
    this.#pages.set(page.session, page)
    await page.prepare(look)
    await page.go(url)
    return page
  }

  call(method: string, params: Json, sessionId?: string): Promise<Json> {
    const id = ++this.#lastId
    const pipe = this.#child.stdio[3] as Writable
    pipe.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
  }

  #received(message: Json): void {
    const waiting = this.#waiting.get(Number(message['id']))
    if (waiting === undefined) {
      const page = this.#pages.get(String(message['sessionId']))
      page?.heard(String(message['method']), (message['params'] ?? {}) as Json)
      return
    }
    this.#waiting.delete(Number(message['id']))
    const error = message['error'] as { readonly message: string } | undefined
    if (error === undefined) waiting.resolve(message['result'] as Json)
    else waiting.reject(new Error(error.message))
  }
}

export class Page {
  readonly session: string
  /** Requests of the page. */
  readonly requests: string[] = []
  /** Complaints of the browser about the page. */
  readonly complaints: string[] = []
  readonly #browser: Browser
  #onLoad: () => void = () => {}

  constructor(browser: Browser, session: string) {
    this.#browser = browser
    this.session = session
  }

  async prepare({ width, height, scheme = 'light', isScriptOff = false }: Look): Promise<void> {
    for (const name of ['Page', 'Runtime', 'Log', 'Network']) await this.#call(`${name}.enable`)
    await this.#call('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    })
    await this.#call('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    })
    await this.#call('Emulation.setScriptExecutionDisabled', { value: isScriptOff })
  }

  /** Resolves when the page is loaded. */
  async go(url: string): Promise<void> {
    const loaded = new Promise<void>(resolve => (this.#onLoad = resolve))
    const { errorText } = await this.#call('Page.navigate', { url })
    if (errorText !== undefined) throw new Error(`${url}: ${JSON.stringify(errorText)}`)
    await loaded
  }

  /** The value of an expression in the page. */
  async value<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#call('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return (result as { readonly value: T }).value
  }

  /** Resolves when an expression is true. */
  async until(expression: string): Promise<void> {
    const deadlineMs = performance.now() + patient(10_000)
    while (performance.now() < deadlineMs) {
      if (await this.value<boolean>(expression)) return
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    throw new Error(`never true: ${expression}`)
  }

  /** Presses and lets go of a key. */
  async press(key: string): Promise<void> {
    const code = { Tab: 9, Enter: 13, Escape: 27 }[key] ?? 0
    const text = key === 'Enter' ? { text: '\r' } : {}
    const params = { key, code: key, windowsVirtualKeyCode: code }
    await this.#call('Input.dispatchKeyEvent', { type: 'keyDown', ...params, ...text })
    await this.#call('Input.dispatchKeyEvent', { type: 'keyUp', ...params })
  }

  /** Nodes as a screen reader is told them: their roles and names. */
  async spoken(): Promise<readonly { readonly role: string; readonly name: string }[]> {
    const { nodes } = await this.#call('Accessibility.getFullAXTree')
    type Node = Readonly<Record<'role' | 'name', { readonly value: string } | undefined>>
    return (nodes as readonly Node[]).map(({ role, name }) => ({
      role: role?.value ?? '',
      name: name?.value ?? '',
    }))
  }

  /** A PNG of what is visible. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png' })
    return Buffer.from(String(data), 'base64')
  }

  heard(method: string, params: Json): void {
    if (method === 'Page.loadEventFired') this.#onLoad()
    else if (method === 'Network.requestWillBeSent') {
      this.requests.push((params['request'] as { readonly url: string }).url)
    } else if (method === 'Log.entryAdded') {
      const { level, text } = params['entry'] as { readonly level: string; readonly text: string }
      if (level === 'error') this.complaints.push(text)
    } else if (method === 'Runtime.exceptionThrown') {
      this.complaints.push(JSON.stringify(params['exceptionDetails']))
    }
  }

  #call(method: string, params: Json = {}): Promise<Json> {
    return this.#browser.call(method, params, this.session)
  }
}
