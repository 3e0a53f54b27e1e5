/*
 * The worker that reads the rows of a snapshot: see rows_reader.ts. It gets one job, and answers
 * once.
 */
import { buffersOf, readHere, type RowsAnswer, type RowsJob } from "./rows_reader.ts";

async function answerTo(job: RowsJob): Promise<RowsAnswer> {
  try {
    return { rows: await readHere(job) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

self.onmessage = async ({ data }: MessageEvent<RowsJob>) => {
  const answer = await answerTo(data);
  const moved = "rows" in answer ? buffersOf(answer.rows) : [];
  self.postMessage(answer, { transfer: moved });
};
