import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after the other, each by its main method, and tells what it wrote and how it ended.
 *
 * <p>A line of standard input is a main class and its arguments, separated by U+001F. The answer is a line of three words:
 * exit status, standard output and standard error, both in Base64. A tool that ends the process ends its own run only.
 */
public final class ToolSession {
    private static final String SEPARATOR = "\u001f";

    private final PrintStream answers = stream(new FileOutputStream(FileDescriptor.out));

    private ToolSession() { }

    /** No arguments. */
    public static void main(String[] arguments) throws IOException {
        ToolSession session = new ToolSession();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(SEPARATOR, -1);
            session.tell(new Run().end(words[0], Arrays.copyOfRange(words, 1, words.length)));
        }
        // Clients that a tool did not close would keep the process.
        Runtime.getRuntime().halt(0);
    }

    private void tell(Ending ending) {
        answers.println(ending.status() + " " + base64(ending.output()) + " " + base64(ending.errors()));
        answers.flush();
    }

    private static String base64(byte[] written) {
        return "=" + Base64.getEncoder().encodeToString(written);
    }

    private static PrintStream stream(java.io.OutputStream target) {
        return new PrintStream(target, true, StandardCharsets.UTF_8);
    }

    private record Ending(int status, byte[] output, byte[] errors) { }

    /** What a tool is told that ended the process: it unwinds, closing what it has opened. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    /** One tool from its start to its end; what it writes afterwards, unwinding, is nobody's. */
    private static final class Run {
        private final ByteArrayOutputStream output = new ByteArrayOutputStream();
        private final ByteArrayOutputStream errors = new ByteArrayOutputStream();
        private final AtomicReference<Ending> ending = new AtomicReference<>();

        Ending end(String mainClass, String[] arguments) {
            System.setOut(stream(output));
            System.setErr(stream(errors));
            Exit.setExitProcedure((status, message) -> {
                ended(status);
                throw new Ended();
            });
            try {
                Class.forName(mainClass).getMethod("main", String[].class).invoke(null, (Object) arguments);
                ended(0);
            } catch (InvocationTargetException thrown) {
                thrown.getCause().printStackTrace();
                ended(1);
            } catch (ReflectiveOperationException unknown) {
                unknown.printStackTrace();
                ended(1);
            }
            return ending.get();
        }

        private void ended(int status) {
            System.out.flush();
            System.err.flush();
            ending.compareAndSet(null, new Ending(status, output.toByteArray(), errors.toByteArray()));
        }
    }
}
