// Measures verifications a second; see conformance/README.md.
import { readFileSync } from 'node:fs'

import { AssayClient } from '../src/index.js'

const [address, file, calls, inFlight, payload] = process.argv.slice(2)
const client = new AssayClient({ addresses: address, timeout: 30_000, inFlightLimit: Number(inFlight) })
const token = readFileSync(file)
const call = { kind: 'TRANSACTION', omitTypedPayload: payload === 'bare' || undefined }

async function perform(count) {
  let left = count
  const verify = async () => {
    while (left > 0) {
      left -= 1
      const { verdict, detail } = await client.verify(token, call, { mayWait: true })
      if (verdict !== 'VALID') throw new Error(`${verdict}: ${detail}`)
    }
  }
  await Promise.all(Array.from({ length: Number(inFlight) }, verify))
}

await perform(Number(calls) / 4)
const start = performance.now()
await perform(Number(calls))
console.log(JSON.stringify({ answers: Number(calls), seconds: (performance.now() - start) / 1000 }))
client.close()
